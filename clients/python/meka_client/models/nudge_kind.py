from enum import StrEnum


class NudgeKind(StrEnum):
    CHECKLIST = "checklist"
    VISIBLE_REPLY = "visible_reply"

    def __str__(self) -> str:
        return str(self.value)

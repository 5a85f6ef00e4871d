from enum import StrEnum


class NudgeBlockType(StrEnum):
    NUDGE = "nudge"

    def __str__(self) -> str:
        return str(self.value)

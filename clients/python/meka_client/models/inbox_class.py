from enum import StrEnum


class InboxClass(StrEnum):
    FOLLOWUP = "followup"
    INTERRUPT = "interrupt"
    STEER = "steer"

    def __str__(self) -> str:
        return str(self.value)

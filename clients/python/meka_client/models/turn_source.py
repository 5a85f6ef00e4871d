from enum import StrEnum


class TurnSource(StrEnum):
    BACKGROUND = "background"
    CLIENT = "client"
    INBOX = "inbox"
    PARENT = "parent"
    SCHEDULE = "schedule"

    def __str__(self) -> str:
        return str(self.value)

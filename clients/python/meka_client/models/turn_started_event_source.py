from enum import StrEnum


class TurnStartedEventSource(StrEnum):
    BACKGROUND = "background"
    CLIENT = "client"
    COMPACTION = "compaction"
    INBOX = "inbox"
    PARENT = "parent"
    SCHEDULE = "schedule"

    def __str__(self) -> str:
        return str(self.value)

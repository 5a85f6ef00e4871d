from enum import StrEnum


class InboxBlockType(StrEnum):
    INBOX = "inbox"

    def __str__(self) -> str:
        return str(self.value)

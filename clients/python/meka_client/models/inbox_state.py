from enum import StrEnum


class InboxState(StrEnum):
    APPENDED = "appended"
    DELIVERED = "delivered"
    PENDING = "pending"
    WITHDRAWN = "withdrawn"

    def __str__(self) -> str:
        return str(self.value)

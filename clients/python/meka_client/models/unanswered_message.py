from enum import StrEnum


class UnansweredMessage(StrEnum):
    KEEP = "keep"
    WITHDRAW = "withdraw"

    def __str__(self) -> str:
        return str(self.value)

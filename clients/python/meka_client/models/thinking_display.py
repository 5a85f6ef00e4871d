from enum import StrEnum


class ThinkingDisplay(StrEnum):
    REDACTED = "redacted"
    SUMMARIZED = "summarized"
    UPDATES = "updates"

    def __str__(self) -> str:
        return str(self.value)

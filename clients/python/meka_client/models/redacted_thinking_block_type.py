from enum import StrEnum


class RedactedThinkingBlockType(StrEnum):
    REDACTED_THINKING = "redacted_thinking"

    def __str__(self) -> str:
        return str(self.value)

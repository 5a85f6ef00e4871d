from enum import StrEnum


class ThinkingMode(StrEnum):
    ADAPTIVE = "adaptive"
    BUDGETED = "budgeted"
    OFF = "off"

    def __str__(self) -> str:
        return str(self.value)

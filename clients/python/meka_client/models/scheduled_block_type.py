from enum import StrEnum


class ScheduledBlockType(StrEnum):
    SCHEDULED = "scheduled"

    def __str__(self) -> str:
        return str(self.value)

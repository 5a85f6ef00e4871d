from enum import StrEnum


class ChecklistStatus(StrEnum):
    DEFERRED = "deferred"
    IN_PROGRESS = "in_progress"
    PENDING = "pending"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class TaskStatus(StrEnum):
    CANCELED = "canceled"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    RUNNING = "running"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class NoticeLevel(StrEnum):
    INFO = "info"
    WARN = "warn"

    def __str__(self) -> str:
        return str(self.value)

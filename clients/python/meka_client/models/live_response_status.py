from enum import StrEnum


class LiveResponseStatus(StrEnum):
    OK = "ok"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class DeferredTools(StrEnum):
    NATIVE = "native"

    def __str__(self) -> str:
        return str(self.value)

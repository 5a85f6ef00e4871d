from enum import StrEnum


class InvocationBlockType(StrEnum):
    INVOCATION = "invocation"

    def __str__(self) -> str:
        return str(self.value)

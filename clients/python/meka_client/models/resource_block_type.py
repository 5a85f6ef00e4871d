from enum import StrEnum


class ResourceBlockType(StrEnum):
    RESOURCE = "resource"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class ImageBlockType(StrEnum):
    IMAGE = "image"

    def __str__(self) -> str:
        return str(self.value)

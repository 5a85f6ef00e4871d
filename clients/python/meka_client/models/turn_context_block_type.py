from enum import StrEnum


class TurnContextBlockType(StrEnum):
    TURN_CONTEXT = "turn_context"

    def __str__(self) -> str:
        return str(self.value)

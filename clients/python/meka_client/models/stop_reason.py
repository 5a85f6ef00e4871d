from enum import StrEnum


class StopReason(StrEnum):
    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"

    def __str__(self) -> str:
        return str(self.value)

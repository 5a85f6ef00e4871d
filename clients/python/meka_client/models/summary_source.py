from enum import StrEnum


class SummarySource(StrEnum):
    CHECKPOINT = "checkpoint"
    SUMMARIZER = "summarizer"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class BackgroundReportBlockType(StrEnum):
    BACKGROUND_REPORT = "background_report"

    def __str__(self) -> str:
        return str(self.value)

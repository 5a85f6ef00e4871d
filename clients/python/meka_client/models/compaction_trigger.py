from enum import StrEnum


class CompactionTrigger(StrEnum):
    EMERGENCY = "emergency"
    MANUAL = "manual"
    PROACTIVE = "proactive"
    REACTIVE = "reactive"
    REQUESTED = "requested"
    RETENTION = "retention"

    def __str__(self) -> str:
        return str(self.value)

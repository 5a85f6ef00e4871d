from enum import StrEnum


class CancelReason(StrEnum):
    ABANDONED = "abandoned"
    CLIENT = "client"
    PARENT = "parent"
    SERVER_SHUTDOWN = "server_shutdown"
    SSE_LAG = "sse_lag"

    def __str__(self) -> str:
        return str(self.value)

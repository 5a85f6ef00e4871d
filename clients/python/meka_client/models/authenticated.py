from enum import StrEnum


class Authenticated(StrEnum):
    NO = "no"
    UNREADABLE = "unreadable"
    YES = "yes"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class AnswerOutcome(StrEnum):
    ACCEPT = "accept"
    ALLOW = "allow"
    ALLOW_ALWAYS = "allow_always"
    CANCEL = "cancel"
    DECLINE = "decline"
    DENY = "deny"
    DENY_ALWAYS = "deny_always"

    def __str__(self) -> str:
        return str(self.value)

from enum import StrEnum


class PermissionOutcome(StrEnum):
    ALLOW = "allow"
    ALLOW_ALWAYS = "allow_always"
    CANCELED = "canceled"
    DENY = "deny"
    DENY_ALWAYS = "deny_always"
    EXPIRED = "expired"

    def __str__(self) -> str:
        return str(self.value)

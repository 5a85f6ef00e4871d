from enum import StrEnum


class PermissionLevel(StrEnum):
    NONE = "none"
    READ = "read"
    UNRESTRICTED = "unrestricted"
    WORKSPACE = "workspace"

    def __str__(self) -> str:
        return str(self.value)

"""The four permission levels and their order."""

from enum import StrEnum


class Level(StrEnum):
    """What a session lets its tools do; each level holds all that the ones before it hold."""

    NONE = "none"
    READ = "read"
    WORKSPACE = "workspace"
    UNRESTRICTED = "unrestricted"

    def holds(self, required: "Level") -> bool:
        """Whether a session at this level reaches `required`."""
        return ORDER.index(self) >= ORDER.index(required)


ORDER = tuple(Level)

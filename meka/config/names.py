"""Names that people give: accounts, profiles, servers, projects, skills, memories share one rule."""

import unicodedata

from meka.base.errors import ConfigurationError


def name_defect(noun: str, name: str) -> str | None:
    """Why a `noun` cannot be named `name`, or None; the sentence does not repeat the name."""
    if not name.strip():
        return f"{noun} name is blank"
    if name != name.strip():
        return f"{noun} name has whitespace at an end"
    if "/" in name:
        return f"{noun} name holds a /"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return f"{noun} name holds a control character"
    return None


def require_name(noun: str, name: str) -> str:
    """`name`, when a `noun` can have it. Raises: ConfigurationError."""
    defect = name_defect(noun, name)
    if defect is not None:
        raise ConfigurationError(defect)
    return name

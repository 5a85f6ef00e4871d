"""Globs of paths, turned into patterns of the linear-time engine.

`*` and `?` stay inside one path component, `**` is any number of components, `[a-z]` and `[!a-z]` are
classes, `{a,b}` is a choice.
"""

import re
from dataclasses import dataclass

from meka.agent.tools.base import ToolError

_MAGIC = re.compile(r"[*?\[\]{}]")
_ANY_DEPTH = "(?:[^/]+/)*"


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob split for walking: the literal `base` directory, and what is matched below it.

    `regex` matches a path relative to the base; `max_depth` is how many components that can have, or None.
    """

    base: str
    regex: str
    max_depth: int | None


def parse_glob(glob: str) -> Glob:
    """`glob` over whole paths. Raises: ToolError."""
    parts = _components(glob)
    literal = 0
    while literal < len(parts) - 1 and not _MAGIC.search(parts[literal]):
        literal += 1
    base = "/".join(parts[:literal])
    below = parts[literal:]
    regex = "".join(_component(part, is_last=at == len(below) - 1) for at, part in enumerate(below))
    depth = None if "**" in below else len(below)
    return Glob(("/" if glob.startswith("/") else "") + base, rf"\A(?:{regex})\z", depth)


def parse_name_glob(glob: str) -> str:
    """The pattern of a glob that is matched against a file's name alone. Raises: ToolError."""
    if not glob or "/" in glob:
        raise ToolError("glob is matched on the file name only; it is not empty and holds no /")
    return rf"\A(?:{_translate(glob)})\z"


def _components(glob: str) -> list[str]:
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or glob.endswith("/"):
        raise ToolError("the glob is empty, holds '..' or ends in /; give the directory with path")
    if any("**" in part and part != "**" for part in parts):
        raise ToolError("bad glob: ** has to be a whole path component")
    return parts


def _component(part: str, *, is_last: bool) -> str:
    if part == "**":
        return _ANY_DEPTH + "[^/]+" if is_last else _ANY_DEPTH
    return _translate(part) + ("" if is_last else "/")


def _translate(part: str) -> str:
    out: list[str] = []
    at = depth = 0
    while at < len(part):
        char = part[at]
        if char == "[":
            piece, at = _char_class(part, at)
            out.append(piece)
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            raise ToolError("bad glob: } without {")
        out.append(_plain(char, in_choice=depth > 0))
        at += 1
    if depth:
        raise ToolError("bad glob: { without }")
    return "".join(out)


def _plain(char: str, *, in_choice: bool) -> str:
    if char == "," and in_choice:
        return "|"
    return {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}.get(char) or re.escape(char)


def _char_class(part: str, at: int) -> tuple[str, int]:
    end = part.find("]", at + 3 if part[at + 1 : at + 2] in ("!", "^") else at + 2)
    if end < 0:
        raise ToolError("bad glob: [ without ]")
    inside = part[at + 1 : end]
    negated = inside[0] in "!^"
    body = inside[1:] if negated else inside
    escaped = "".join("\\" + char if char in "\\[]^&~|" else char for char in body)
    return f"[{'^/' if negated else ''}{escaped}]", end + 1

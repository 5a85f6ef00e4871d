"""Edits of a text by a piece of it: replaced, or put beside, and the snippet that shows the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from meka.agent.tools.base import ToolError
from meka.base.text import scrub

MODES = {"new_string": "Replaced", "insert_before": "Inserted before", "insert_after": "Inserted after"}
CONTEXT_LINES = 3
MAX_LINE_CHARS = 200
MAX_SNIPPET_LINES = 40
_RETURN = "\r"


@dataclass(frozen=True, slots=True)
class Edit:
    """What to find, and what to put in its place (the found text included when it stays)."""

    old: str
    replacement: str
    verb: str
    replace_all: bool


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """The text after an edit; `first` and `length` are where the first change lies in it, in characters."""

    text: str
    count: int
    verb: str
    first: int
    length: int


def edit_of(arguments: Mapping[str, Any]) -> Edit:
    """The edit that a call asks for. Raises: ToolError for none or several modes, or nothing to find."""
    modes = [mode for mode in MODES if arguments.get(mode) is not None]
    if len(modes) != 1:
        raise ToolError("give exactly one of new_string, insert_before and insert_after")
    mode = modes[0]
    old, given = scrub(arguments["old_string"]), scrub(arguments[mode])
    if not old:
        raise ToolError("old_string is empty; give the text to find")
    replacement = {"new_string": given, "insert_before": given + old, "insert_after": old + given}[mode]
    return Edit(old, replacement, MODES[mode], bool(arguments.get("replace_all")))


def apply_edit(edit: Edit, text: str, name: str) -> AppliedEdit:
    """`text` with the edit made. Raises: ToolError when the old text is not there, or not once."""
    count = text.count(edit.old)
    if not count:
        raise ToolError(f"old_string was not found in {name}{_line_ending_hint(edit.old, text)}")
    if count > 1 and not edit.replace_all:
        raise ToolError(
            f"old_string occurs {count} times in {name}; add surrounding context to make it unique, "
            "or pass replace_all=true"
        )
    changed = text.replace(edit.old, edit.replacement)
    return AppliedEdit(changed, count, edit.verb, text.index(edit.old), len(edit.replacement))


def render_snippet(applied: AppliedEdit) -> str:
    """The lines of the first change with those around it, numbered; long lines are cut."""
    text, last_changed = applied.text, applied.first + max(0, applied.length - 1)
    at = _start_of_context(text, applied.first)
    number = text.count("\n", 0, at) + 1
    rows: list[str] = []
    lines_behind = 0
    while at < len(text):
        lines_behind += at > last_changed
        if lines_behind > CONTEXT_LINES:
            break
        if len(rows) == MAX_SNIPPET_LINES:
            return "\n".join([*rows, "  ..."])
        end = text.find("\n", at)
        line = text[at:end] if end >= 0 else text[at:]
        rows.append(f"{number + len(rows):5d} | {line.removesuffix(_RETURN)[:MAX_LINE_CHARS]}")
        at = end + 1 if end >= 0 else len(text)
    return "\n".join(rows)


def _start_of_context(text: str, at: int) -> int:
    for _ in range(CONTEXT_LINES + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _line_ending_hint(old: str, text: str) -> str:
    if _unified(old) in _unified(text):
        return "; it would be, but for the line endings: the file's are " + (
            "CRLF, old_string's are not" if "\r\n" in text else "LF, old_string's are CRLF"
        )
    return ""


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n")

"""What `scratchpad_read` shows of a text: whole lines, as many as fit, and which ones they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from meka.agent.tools.base import ToolError
from meka.agent.tools.patterns import compile_pattern
from meka.base.text import cut_utf8

LEAST_BYTES = 30_000
MOST_MATCHES = 100


@dataclass(frozen=True, slots=True)
class Fitting:
    """The lines that fit, and whether the only one that would not was cut."""

    lines: Sequence[str]
    cut: bool


def view_entry(content: str, start: int | None, end: int | None, regex: str | None, room: int | None) -> str:
    """The lines from `start` to `end` (from 1, inclusive), or those that match, with a notice of which.

    Units: `room` is bytes, None = no bound; at least 30,000 are given. Raises: ToolError.
    """
    first, last = start or 1, end
    if last is not None and last < first:
        raise ToolError(f"end ({last}) is before start ({first})")
    lines = content.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    limit = None if room is None else max(LEAST_BYTES, room)
    if regex is not None:
        return _view_matches(lines, first, last, regex, limit)
    return _view_range(lines, first, last, limit)


def _view_range(lines: Sequence[str], first: int, last: int | None, limit: int | None) -> str:
    total = len(lines)
    if first > total:
        return f"(no lines: the entry has {total}, start is {first})"
    fitting = _fit(lines[first - 1 : last], limit)
    shown_to = first + len(fitting.lines) - 1
    notice = f"lines {first}-{shown_to} of {total}"
    if fitting.cut:
        notice += "; the line is too long and was cut"
    elif shown_to < min(total, last or total):
        notice += f"; that is what there is room for, go on with start={shown_to + 1}"
    return "\n".join([*fitting.lines, "", f"({notice})"])


def _view_matches(lines: Sequence[str], first: int, last: int | None, regex: str, limit: int | None) -> str:
    window = "\n".join(lines[first - 1 : last])
    found = compile_pattern(regex).matching_lines(window, MOST_MATCHES, first_number=first)
    if not found.total:
        return f"(no matches in {len(lines)} lines)"
    fitting = _fit([f"{row.number}:{row.text}" for row in found.rows], limit)
    shown = [*fitting.lines]
    if fitting.cut:
        shown.append("... (the line is too long and was cut)")
    elif len(shown) < found.total:
        shown.append(f"... (showing first {len(shown)} of {found.total} matches)")
    return "\n".join(shown)


def _fit(lines: Sequence[str], limit: int | None) -> Fitting:
    if limit is None:
        return Fitting(list(lines), cut=False)
    fitting: list[str] = []
    room = limit
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        fitting.append(line)
    else:
        return Fitting(fitting, cut=False)
    return Fitting(fitting, cut=False) if fitting else Fitting([cut_utf8(line, limit)], cut=True)

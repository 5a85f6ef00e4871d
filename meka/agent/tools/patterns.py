"""The one place where a pattern of a model or a client is compiled: a linear-time engine, bounded in size.

The engine lets other threads run while it matches, yet a match may take its time: run it off the hub.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from meka.agent.tools.base import ToolError
from meka.agent.tools.engine import LINE_ANCHORS, EngineError, compile_bytes
from meka.agent.tools.lines import chunks_of, matched_lines, split_blocks
from meka.base.text import scrub

MATCH_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class LineRow:
    """A matching line: 1-based number, text without the line ending."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class LineMatches:
    """The first matching lines, and how many there are in all."""

    rows: tuple[LineRow, ...]
    total: int


class Pattern:
    """A compiled pattern. `^` and `$` are the ends of a line; no match spans lines unless `whole_text`."""

    __slots__ = ("_regex",)

    def __init__(self, regex: Any) -> None:
        self._regex = regex

    def matches_line(self, line: str) -> bool:
        """Whether the pattern is found in `line`."""
        return self._regex.search(_encode(line)) is not None

    def find_all(self, text: str) -> Iterator[str]:
        """What the pattern matches in `text`, in order; empty matches are left out."""
        for match in self._regex.finditer(_encode(text)):
            found: bytes = match.group()
            if found:
                yield found.decode("utf-8", "replace")

    def matching_lines(
        self, text: str, limit: int, *, first_number: int = 1, is_stopped: Callable[[], bool] | None = None
    ) -> LineMatches:
        """The first `limit` lines of `text` that match, and the count of all.

        Raises: ToolError when matching took longer than `MATCH_SECONDS`, or `is_stopped` turned true.
        """
        rows: list[LineRow] = []
        total = 0
        deadline = time.monotonic() + MATCH_SECONDS
        for found in matched_lines(self._regex, split_blocks(chunks_of(_encode(text)))):
            if found is None:
                _check_time(deadline, is_stopped)
                continue
            total += 1
            if total <= limit:
                rows.append(LineRow(found.number + first_number - 1, found.text.decode("utf-8", "replace")))
        return LineMatches(tuple(rows), total)


def compile_pattern(pattern: str, *, case_sensitive: bool = True, whole_text: bool = False) -> Pattern:
    """`pattern` compiled; `whole_text` lets a match span lines.

    Raises: ToolError with the engine's own reason.
    """
    try:
        regex = compile_bytes(scrub(pattern), case_sensitive=case_sensitive, whole_text=whole_text)
    except EngineError as error:
        raise ToolError(f"invalid pattern: {_reason(error)}") from error
    return Pattern(regex)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "not understood"
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return text.replace(LINE_ANCHORS, "", 1)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _check_time(deadline: float, is_stopped: Callable[[], bool] | None) -> None:
    if is_stopped is not None and is_stopped():
        raise ToolError("the search was stopped")
    if time.monotonic() > deadline:
        raise ToolError(f"the pattern took longer than {MATCH_SECONDS:.0f} s on this text; use a simpler one")

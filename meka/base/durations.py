"""Durations as people write them: `"90s"`, `"1h 30m"`, `"2days 4h"`."""

import re
from collections.abc import Mapping
from types import MappingProxyType

_DAY = 86400.0
_SECONDS_BY_SPELLING: Mapping[tuple[str, ...], float] = MappingProxyType(
    {
        ("nsec", "ns"): 1e-9,
        ("usec", "us", "µs", "μs"): 1e-6,
        ("millis", "msec", "ms"): 1e-3,
        ("seconds", "second", "secs", "sec", "s"): 1.0,
        ("minutes", "minute", "mins", "min", "m"): 60.0,
        ("hours", "hour", "hrs", "hr", "h"): 3600.0,
        ("days", "day", "d"): _DAY,
        ("weeks", "week", "wk", "w"): 7 * _DAY,
        ("months", "month", "M"): 30.44 * _DAY,
        ("years", "year", "yr", "y"): 365.25 * _DAY,
    }
)
_UNITS: Mapping[str, float] = MappingProxyType(
    {spelling: seconds for spellings, seconds in _SECONDS_BY_SPELLING.items() for spelling in spellings}
)
_TERM = re.compile(r"\s*([0-9]+)\s*([A-Za-zµμ]*)", re.ASCII)
_RENDERED = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_LONGEST_SECONDS = 1000 * 365.25 * _DAY


class DurationError(ValueError):
    """A text that is no duration; its sentence says why and never repeats the text."""


def parse_duration(text: str) -> float:
    """The seconds that `text` stands for: one or more `<integer><unit>` terms, summed; `"0"` alone is zero.

    Units are case-sensitive (`m` minute, `M` month). Raises: DurationError.
    """
    stripped = text.strip()
    if stripped == "0":
        return 0.0
    if not stripped:
        raise DurationError('a duration is a number with a unit, such as "30s"; this one is empty')
    seconds = _sum_terms(stripped)
    if seconds > _LONGEST_SECONDS:
        raise DurationError("a duration is at most 1000 years")
    return seconds


def _sum_terms(text: str) -> float:
    total, position = 0.0, 0
    while position < len(text):
        term = _TERM.match(text, position)
        if term is None:
            raise DurationError('a duration is whole numbers with units, such as "1h 30m"')
        total += _term_seconds(term[1], term[2])
        position = term.end()
    return total


def _term_seconds(digits: str, unit: str) -> float:
    if not unit:
        raise DurationError('a duration needs a unit after each number, such as "30s"')
    if unit not in _UNITS:
        raise DurationError("a duration's unit is one of ns, us, ms, s, m, h, d, w, M, y (or its long form)")
    if len(digits) > 19:
        raise DurationError("a duration is at most 1000 years")
    return int(digits) * _UNITS[unit]


def render_duration(seconds: float) -> str:
    """`seconds` as `parse_duration` reads it back, to the millisecond: `1h 30m`, `0s`."""
    milliseconds = max(0, round(seconds * 1000))
    left, thousandths = divmod(milliseconds, 1000)
    terms = []
    for unit, size in _RENDERED:
        count, left = divmod(left, size)
        if count:
            terms.append(f"{count}{unit}")
    if thousandths:
        terms.append(f"{thousandths}ms")
    return " ".join(terms) or "0s"

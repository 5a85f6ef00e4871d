"""JSON from outside, read strictly: what two readers could take for different things is refused."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from meka.base.text import scrub_tree

MAX_DEPTH = 64
MAX_VALUES = 5_000
"""What is in a body beside words is no more than this; an archive alone holds more."""
_INTEGER_BOUND = 2**63
_GLANCE_BYTES = 4096
_CLOSING = re.compile(rb"[\]}]")


class JsonFaultError(ValueError):
    """Why a text is not the JSON that is read here, in a sentence that says where."""


def holds_more_than(raw: bytes, values: int) -> bool:
    """Whether `raw` holds more than so many values; cheap also where it does."""
    if len(raw) <= values:
        return False
    # A value has at most a key and a text of its own; so many quotes would be slow to take apart.
    return raw.count(b'"') - raw.count(b'\\"') > 4 * values or _count_values(raw) > values


def _count_values(raw: bytes) -> int:
    """How many values there are, or more, without building any of them.

    A megabyte of `[],[],` is a third of a million objects: to find that out afterwards is too late.
    """
    outside = _outside_texts(raw)
    return outside.count(b",") + _count_openings(outside) + 1


def _begins_deeper(glance: bytes, depth: int) -> bool:
    """Whether so many arrays and objects open before the first of them closes."""
    return _count_openings(_CLOSING.split(_outside_texts(glance), maxsplit=1)[0]) > depth


def _count_openings(outside: bytes) -> int:
    return outside.count(b"[") + outside.count(b"{")


def _outside_texts(raw: bytes) -> bytes:
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(raw.split(b'"')[::2])


def read_json(raw: bytes, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> Any:
    """The value `raw` holds; NUL and lone surrogates in strings come out as U+FFFD.

    Raises: `JsonFaultError` for invalid UTF-8, what is no JSON (NaN included), nesting past `max_depth`, a
    repeated key, a number that no double or 64-bit integer holds, more than `max_values` values.
    """
    if max_values is not None and holds_more_than(raw, max_values):
        raise JsonFaultError(
            f"nested deeper than {max_depth} levels"
            if _begins_deeper(raw[:_GLANCE_BYTES], max_depth)
            else f"holds more than {max_values} values"
        )
    text = _decode(raw)
    numbers = _Numbers()
    value = _parse(text, numbers)
    if text.count("{") + text.count("[") > max_depth and _nests_past(value, max_depth):
        raise JsonFaultError(f"nested deeper than {max_depth} levels")
    if numbers.odd:
        raise JsonFaultError(_describe_odd(value))
    return scrub_tree(value) if "\\u" in text else value


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonFaultError(f"not valid UTF-8 at byte {error.start}") from error


def _parse(text: str, numbers: "_Numbers") -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=numbers.read_float,
            parse_int=numbers.read_int,
            parse_constant=numbers.read_constant,
        )
    except RecursionError as error:
        raise JsonFaultError(f"nested deeper than {MAX_DEPTH} levels") from error
    except json.JSONDecodeError as error:
        raise JsonFaultError(f"{error.msg} at line {error.lineno} column {error.colno}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JsonFaultError(f"the field `{twice[:64]}` is given twice")
    return members


class _OddNumber(float):
    """A number that cannot be passed on, kept in place so that its path can be told."""

    text: str


class _Numbers:
    """Reads numbers and notes whether there were any that no one could hold."""

    def __init__(self) -> None:
        self.odd = False

    def read_float(self, text: str) -> float:
        number = float(text)
        return number if math.isfinite(number) else self.read_constant(text)

    def read_int(self, text: str) -> float:
        if len(text) < 19:
            return int(text)
        number = int(text) if len(text) < 24 else _INTEGER_BOUND
        return number if -_INTEGER_BOUND <= number < _INTEGER_BOUND else self.read_constant(text)

    def read_constant(self, text: str) -> float:
        self.odd = True
        number = _OddNumber()
        number.text = text[:32]
        return number


def _nests_past(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [child for item in level for child in _children(item)]
    return any(isinstance(item, dict | list) for item in level)


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _describe_odd(value: Any) -> str:
    path, number = next(_odd_numbers(value, ""))
    where = f"`{path}`" if path else "the body"
    if number.text in ("NaN", "Infinity", "-Infinity"):
        return f"{where} is {number.text}, which JSON does not have"
    return f"{where} is a number out of range"


def _odd_numbers(value: Any, path: str) -> Iterator[tuple[str, _OddNumber]]:
    if isinstance(value, _OddNumber):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _odd_numbers(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _odd_numbers(item, f"{path}[{index}]")

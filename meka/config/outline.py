"""Where everything stands in a TOML document: what the standard parser forgets, refusals and edits need."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

KeyPath = tuple[str | int, ...]
"""The way to a value: keys, and positions in arrays."""

_SIMPLE_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_FIRST_KEY = re.compile(_SIMPLE_KEY)
_NEXT_KEY = re.compile(rf"[ \t]*\.[ \t]*({_SIMPLE_KEY})")
_STRING = re.compile(
    r'''"""(?:[^\\]|\\[\s\S])*?"""(?!")|\'\'\'[\s\S]*?\'\'\'(?!\')|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\''''
)
_PLAIN = re.compile(r"[^,\]}#\s](?:[^,\]}#\n]*[^,\]}#\s])?")
_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of offsets."""

    start: int
    end: int


class Kind(Enum):
    """What an entry is: `[table]`, a `key = value` line, one inside `{}`, or an item of an array."""

    HEADER = "header"
    PAIR = "pair"
    MEMBER = "member"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a dotted key, and the path that it completes."""

    path: KeyPath
    span: Span


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a document states; `span` covers key and value, `value` is empty for a header."""

    kind: Kind
    path: KeyPath
    keys: tuple[Key, ...]
    span: Span
    value: Span


def outline(text: str) -> tuple[Entry, ...]:
    """Everything that `text`, a valid document, states, in the order it is written."""
    return tuple(sorted(_Scanner(text).scan(), key=lambda entry: entry.span.start))


def position_of(text: str, path: KeyPath) -> Position | None:
    """Where the key at `path` stands in `text`, a valid document; the nearest table above it when unknown."""
    offsets: dict[KeyPath, int] = {}
    for entry in outline(text):
        for key in entry.keys:
            offsets.setdefault(key.path, key.span.start)
        offsets.setdefault(entry.path, entry.span.start)
    for length in range(len(path), 0, -1):
        if path[:length] in offsets:
            return _position_at(text, offsets[path[:length]])
    return None


def _position_at(text: str, offset: int) -> Position:
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - line_start + 1)


class _Scanner:
    """One pass over a document that is known to be valid."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._table: KeyPath = ()
        self._array_sizes: dict[KeyPath, int] = {}

    def scan(self) -> Iterator[Entry]:
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                yield self._scan_header()
            else:
                yield from self._scan_pair(Kind.PAIR, self._table)
            self._skip(_BLANK)

    def _scan_header(self) -> Entry:
        is_array = self._text.startswith("[[", self._at)
        brackets, start = 2 if is_array else 1, self._at
        self._at += brackets
        self._skip(_SPACE)
        keys = self._scan_keys(())
        self._skip(_SPACE)
        self._at += brackets
        names = [str(key.path[-1]) for key in keys]
        self._table = self._enter_array(names) if is_array else self._resolve(names)
        span = Span(start, self._at)
        return Entry(Kind.HEADER, self._table, keys, span, Span(self._at, self._at))

    def _enter_array(self, names: list[str]) -> KeyPath:
        array = (*self._resolve(names[:-1]), names[-1])
        index = self._array_sizes.get(array, 0)
        self._array_sizes[array] = index + 1
        return (*array, index)

    def _resolve(self, names: list[str]) -> KeyPath:
        """The path that a header's keys mean: an array of tables stands for its last table."""
        path: KeyPath = ()
        for name in names:
            path = (*path, name)
            if path in self._array_sizes:
                path = (*path, self._array_sizes[path] - 1)
        return path

    def _scan_pair(self, kind: Kind, table: KeyPath) -> Iterator[Entry]:
        start = self._at
        keys = self._scan_keys(table)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        yield from self._scan_value(kind, keys[-1].path, keys, start)

    def _scan_keys(self, table: KeyPath) -> tuple[Key, ...]:
        keys: list[Key] = []
        match: Any = _FIRST_KEY.match(self._text, self._at)
        while match is not None:
            span = Span(*match.span(match.lastindex or 0))
            table = (*table, _key_text(self._text[span.start : span.end]))
            keys.append(Key(table, span))
            self._at = span.end
            match = _NEXT_KEY.match(self._text, self._at)
        return tuple(keys)

    def _scan_value(self, kind: Kind, path: KeyPath, keys: tuple[Key, ...], start: int) -> Iterator[Entry]:
        value_start, opening = self._at, self._text[self._at : self._at + 1]
        if opening == "[":
            yield from self._scan_array(path)
        elif opening == "{":
            yield from self._scan_inline_table(path)
        else:
            self._skip(_STRING if opening in "\"'" else _PLAIN)
        yield Entry(kind, path, keys, Span(start, self._at), Span(value_start, self._at))

    def _scan_array(self, path: KeyPath) -> Iterator[Entry]:
        self._at += 1
        index = 0
        while self._more_before("]"):
            yield from self._scan_value(Kind.ITEM, (*path, index), (), self._at)
            index += 1

    def _scan_inline_table(self, path: KeyPath) -> Iterator[Entry]:
        self._at += 1
        while self._more_before("}"):
            yield from self._scan_pair(Kind.MEMBER, path)

    def _more_before(self, closing: str) -> bool:
        """Whether another item follows; steps over the closing bracket when none does."""
        self._skip(_BLANK)
        if self._at < len(self._text) and self._text[self._at] != closing:
            return True
        self._at += 1
        return False

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match is not None else len(self._text)


def _key_text(written: str) -> str:
    return written if written[0] not in "\"'" else next(iter(tomllib.loads(f"{written} = 0")))

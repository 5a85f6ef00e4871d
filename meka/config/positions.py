"""Where each key of a TOML document stands: the standard parser forgets it, a refusal names it."""

import re
import tomllib
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]
"""The way to a value: keys, and positions in arrays."""

_SIMPLE_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = re.compile(rf"{_SIMPLE_KEY}(?:[ \t]*\.[ \t]*{_SIMPLE_KEY})*")
_STRING = re.compile(
    r'''"""(?:[^\\]|\\[\s\S])*?"""(?!")|\'\'\'[\s\S]*?\'\'\'(?!\')|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\''''
)
_PLAIN = re.compile(r"[^,\]}#\n]+")
_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, both counted from 1."""

    line: int
    column: int


def position_of(text: str, path: KeyPath) -> Position | None:
    """Where the key at `path` stands in `text`, a valid document; the nearest table above it when unknown."""
    offsets = _Scanner(text).scan()
    for length in range(len(path), 0, -1):
        offset = offsets.get(path[:length])
        if offset is not None:
            return _position_at(text, offset)
    return None


def _position_at(text: str, offset: int) -> Position:
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - line_start + 1)


class _Scanner:
    """One pass over a document that is known to be valid; it notes the first place of every path."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._table: KeyPath = ()
        self._array_sizes: dict[KeyPath, int] = {}
        self._offsets: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                self._scan_header()
            else:
                self._scan_pair(self._table)
            self._skip(_BLANK)
        return self._offsets

    def _scan_header(self) -> None:
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        self._skip(_SPACE)
        start = self._at
        keys = self._scan_key()
        self._skip(_SPACE)
        self._at += 2 if is_array else 1
        self._table = self._enter_array(keys) if is_array else self._resolve(keys)
        self._note(self._table, start)

    def _enter_array(self, keys: list[str]) -> KeyPath:
        array = (*self._resolve(keys[:-1]), keys[-1])
        index = self._array_sizes.get(array, 0)
        self._array_sizes[array] = index + 1
        return (*array, index)

    def _resolve(self, keys: list[str]) -> KeyPath:
        """The path that a header's keys mean: an array of tables stands for its last table."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            if path in self._array_sizes:
                path = (*path, self._array_sizes[path] - 1)
        return path

    def _scan_pair(self, table: KeyPath) -> None:
        start = self._at
        path = (*table, *self._scan_key())
        self._note(path, start)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._scan_value(path)

    def _scan_key(self) -> list[str]:
        match = _KEY.match(self._text, self._at)
        if match is None:  # not valid after all: stop where we are
            self._at = len(self._text)
            return [""]
        self._at = match.end()
        keys: list[str] = []
        level: Any = tomllib.loads(match[0] + " = 0")
        while isinstance(level, dict):
            ((key, level),) = level.items()
            keys.append(key)
        return keys

    def _scan_value(self, path: KeyPath) -> None:
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._scan_array(path)
        elif opening == "{":
            self._scan_inline_table(path)
        else:
            self._skip(_STRING if opening in "\"'" else _PLAIN)

    def _scan_array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._more_before("]"):
            self._note((*path, index), self._at)
            self._scan_value((*path, index))
            index += 1

    def _scan_inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._more_before("}"):
            self._scan_pair(path)

    def _more_before(self, closing: str) -> bool:
        """Whether another item follows; steps over the closing bracket when none does."""
        self._skip(_BLANK)
        if self._at < len(self._text) and self._text[self._at] != closing:
            return True
        self._at += 1
        return False

    def _note(self, path: KeyPath, offset: int) -> None:
        for length in range(1, len(path) + 1):
            self._offsets.setdefault(path[:length], offset)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match: Any = pattern.match(self._text, self._at)
        self._at = match.end() if match is not None else len(self._text)

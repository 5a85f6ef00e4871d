"""From a parsed table to a frozen dataclass, strictly: the dataclass says what may stand in the table.

A refusal carries the path of the key at fault; `meka.config.load` adds the file, the line and the column.
Values are never repeated in a sentence, since a file may hold a secret anywhere.
"""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from meka.base.durations import DurationError, parse_duration
from meka.config.outline import KeyPath, position_of

Decoded = TypeVar("Decoded")
Seconds: TypeAlias = float
"""A span of time, written as a duration in the file; no key is a plain float."""

Ignored = object
"""A key that is accepted and never read."""

_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**63 - 1
_KIND_NAMES: Mapping[type, str] = types.MappingProxyType(
    {bool: "true or false", int: "a whole number", str: "a string"}
)


class RefusedKeyError(Exception):
    """What a key holds cannot stand; `path` leads to the key."""

    def __init__(self, path: KeyPath, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The lowest number a key takes."""

    least: int

    def check(self, value: Any, path: KeyPath) -> None:
        if value < self.least:
            raise RefusedKeyError(path, f"{key_name(path)} must be at least {self.least}")


@dataclass(frozen=True, slots=True)
class Within:
    """The range a number stays in, ends included."""

    least: int
    most: int

    def check(self, value: Any, path: KeyPath) -> None:
        if not self.least <= value <= self.most:
            raise RefusedKeyError(path, f"{key_name(path)} must be between {self.least} and {self.most}")


@dataclass(frozen=True, slots=True)
class NotZero:
    """A duration that would mean nothing at zero."""

    def check(self, value: Any, path: KeyPath) -> None:
        if value == 0:
            raise RefusedKeyError(path, f'{key_name(path)} must be longer than "0s"')


Positive = Annotated[int, AtLeast(1)]
Span = Annotated[Seconds, NotZero()]


def key_name(path: KeyPath) -> str:
    """`path` as a person writes it: `serve.tokens[0].scopes`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def refusal_sentence(refusal: RefusedKeyError, text: str, file: Path) -> str:
    """The refusal with its place in `text`, which stands in `file`."""
    position = position_of(text, refusal.path)
    place = f", line {position.line}, column {position.column}" if position else ""
    return f"{file}{place}: {refusal.sentence}"


def decode(kind: type[Decoded], value: object, path: KeyPath) -> Decoded:
    """A `kind` from the table at `path`. Raises: RefusedKeyError for keys unknown, missing or wrong."""
    if not isinstance(value, Mapping):
        raise RefusedKeyError(path, f"{key_name(path)} must be a table")
    known: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key in value:
        if key not in known:
            where = f"in [{key_name(path)}]" if path else "at the top level"
            raise RefusedKeyError((*path, key), f"unknown key '{key}' {where}")
    hints = get_type_hints(kind, include_extras=True)
    return kind(
        **{
            name: _read(hints[name], value[name], (*path, name))
            for name, field in known.items()
            if name in value or _refuse_missing(field, path)
        }
    )


def _refuse_missing(field: Field[Any], path: KeyPath) -> bool:
    if field.default is MISSING and field.default_factory is MISSING:
        raise RefusedKeyError(path, f"[{key_name(path)}] needs the key '{field.name}'")
    return False


def _read(hint: Any, value: object, path: KeyPath) -> Any:
    origin = get_origin(hint)
    if origin is Annotated:
        return _read_ruled(hint, value, path)
    if origin in (types.UnionType, Union):
        (present,) = (option for option in get_args(hint) if option is not type(None))
        return _read(present, value, path)
    if origin is tuple:
        return _read_array(get_args(hint)[0], value, path)
    if origin is not None:
        return _read_map(get_args(hint)[1], value, path)
    if hint is Seconds:
        return _read_duration(value, path)
    if hint is Ignored:
        return value
    if is_dataclass(hint):
        return decode(cast(type[Any], hint), value, path)
    if issubclass(hint, StrEnum):
        return _read_choice(hint, value, path)
    return _read_scalar(hint, value, path)


def _read_ruled(hint: Any, value: object, path: KeyPath) -> Any:
    inner, *rules = get_args(hint)
    result = _read(inner, value, path)
    for rule in rules:
        rule.check(result, path)
    return result


def _read_array(item: Any, value: object, path: KeyPath) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise RefusedKeyError(path, f"{key_name(path)} must be an array")
    return tuple(_read(item, entry, (*path, index)) for index, entry in enumerate(value))


def _read_map(item: Any, value: object, path: KeyPath) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RefusedKeyError(path, f"{key_name(path)} must be a table")
    return types.MappingProxyType({key: _read(item, entry, (*path, key)) for key, entry in value.items()})


def _read_duration(value: object, path: KeyPath) -> Seconds:
    if not isinstance(value, str):
        raise RefusedKeyError(path, f'{key_name(path)} must be a duration in quotes, such as "30s"')
    try:
        return parse_duration(value)
    except DurationError as error:
        raise RefusedKeyError(path, f"{key_name(path)}: {error}") from None


def _read_choice(kind: type[StrEnum], value: object, path: KeyPath) -> StrEnum:
    spellings = [str(choice) for choice in kind]
    if not isinstance(value, str) or value not in spellings:
        choices = " or ".join([", ".join(spellings[:-1]), spellings[-1]] if len(spellings) > 1 else spellings)
        raise RefusedKeyError(path, f"{key_name(path)} must be {choices}")
    return kind(value)


def _read_scalar(kind: type, value: object, path: KeyPath) -> Any:
    if type(value) is not kind:  # exact: a bool is no whole number
        raise RefusedKeyError(path, f"{key_name(path)} must be {_KIND_NAMES[kind]}")
    if isinstance(value, int) and not _INTEGER_MIN <= value <= _INTEGER_MAX:
        raise RefusedKeyError(path, f"{key_name(path)} must fit a signed 64-bit integer")
    return value

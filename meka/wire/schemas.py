"""A schema of the document, compiled: it names every fault of a value by its path, and echoes no value."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema.exceptions import ValidationError

from meka.wire.formats import FORMAT_NAMES
from meka.wire.keywords import RequestValidator

MAX_FAULTS = 20
_KEEP_NULL = "x-keep-null"
_KIND_NAMES = FORMAT_NAMES | {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_EMPTINESS = frozenset({"minLength", "minItems", "minProperties"})
_SENTENCES = {
    "minimum": "must be at least {bound}",
    "maximum": "must be at most {bound}",
    "minLength": "must have at least {bound} characters",
    "maxLength": "must have at most {bound} characters",
    "minItems": "must have at least {bound} items",
    "maxItems": "must have at most {bound} items",
    "minProperties": "must have at least {bound} fields",
    "maxProperties": "must have at most {bound} fields",
    "uniqueItems": "must not hold an item twice",
    "pattern": "must match {bound}",
    "oneOf": "has more than one of the forms of which it may have one",
}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a value: where (`images[0].data`; empty for the value itself) and what."""

    path: str
    text: str

    def sentence(self, whole: str) -> str:
        """The fault in words; `whole` names the value as a whole."""
        return f"`{self.path}` {self.text}" if self.path else f"{whole} {self.text}"


class CompiledSchema:
    """One schema, ready to check values."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._validator = RequestValidator(schema)

    def faults(self, value: object) -> list[Fault]:
        """What is wrong with `value`, in the order of the schema; at most twenty."""
        errors = self._validator.iter_errors(value)
        return list(islice((fault for error in errors for fault in _faults_of(error, ())), MAX_FAULTS))

    def drop_nulls(self, value: object) -> None:
        """Take out of `value` each optional field that is null, for null says the same as absence.

        A field whose schema, or whose object's, says `x-keep-null` stays: there null unsets.
        """
        _drop_nulls(self._schema, value)


def _drop_nulls(schema: Schema, value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _drop_nulls(schema.get("items", {}), item)
    elif isinstance(value, dict):
        for part in _parts(schema):
            _drop_null_fields(part, value)


def _drop_null_fields(schema: Schema, value: dict[str, object]) -> None:
    for name, field in schema.get("properties", {}).items():
        if value.get(name) is not None:
            _drop_nulls(field, value[name])
        elif name in value and _null_means_absent(name, field, schema):
            del value[name]


def _null_means_absent(name: str, field: Schema, schema: Schema) -> bool:
    keeps = field.get(_KEEP_NULL) or schema.get(_KEEP_NULL) or name in schema.get("required", ())
    return bool(field.get("nullable")) and not keeps


def _parts(schema: Schema) -> Iterator[Schema]:
    yield schema
    for combinator in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(combinator, ()):
            yield from _parts(part)


def _faults_of(error: ValidationError, base: tuple[str | int, ...]) -> Iterator[Fault]:
    path = (*base, *error.relative_path)
    if error.validator == "additionalProperties":
        yield from (Fault(_join((*path, name)), "is not a known field") for name in _unknown_fields(error))
    elif error.validator == "required":
        yield Fault(_join((*path, _missing_field(error))), "is missing")
    elif error.validator in ("oneOf", "anyOf") and error.context:
        yield from _branch_faults(error, path)
    else:
        yield Fault(_join(path), _text_of(error))


def _unknown_fields(error: Any) -> list[str]:
    known = error.schema.get("properties", {})
    return [str(name) for name in error.instance if name not in known]


def _missing_field(error: Any) -> str:
    # jsonschema yields one error a missing field and tells its name only inside the message.
    return next(str(name) for name in error.validator_value if error.message.startswith(repr(name)))


def _branch_faults(error: ValidationError, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """The faults under the branch that the value comes nearest to; a plain sentence where it is near none."""
    branches: dict[Any, list[ValidationError]] = {}
    for cause in error.context:
        branches.setdefault(cause.schema_path[0], []).append(cause)
    nearest = min(branches.values(), key=_distance)
    if any(_is_wholly_other(cause) for cause in nearest):
        yield Fault(_join(path), "has none of the forms it may have")
        return
    for cause in nearest:
        yield from _faults_of(cause, path)


def _distance(causes: Iterable[ValidationError]) -> int:
    """How far a value is from a branch: another type altogether, another kind by a tag, or single fields."""
    return sum(100 if _is_wholly_other(cause) else 10 if cause.validator == "enum" else 1 for cause in causes)


def _is_wholly_other(cause: ValidationError) -> bool:
    return cause.validator == "type" and not cause.relative_path


def _text_of(error: ValidationError) -> str:
    bound: Any = error.validator_value
    keyword = str(error.validator)
    if keyword in _EMPTINESS and bound == 1:
        return "must not be empty"
    if keyword == "enum":
        return f"must be one of {', '.join(repr(choice) for choice in bound if choice is not None)}"
    if keyword in ("type", "format"):
        return f"must be {_KIND_NAMES.get(str(bound), bound)}"
    return _SENTENCES.get(keyword, "is not what the contract allows").format(bound=bound)


def _join(path: Iterable[str | int]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step[:64]}" if text else step[:64]
    return text

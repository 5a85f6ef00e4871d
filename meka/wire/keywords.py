"""Keywords of JSON Schema as requests are checked by them: nothing of a value is ever written into a message.

The library's own write the whole value into each, ten megabytes of it too, and nobody reads that here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jsonschema import Draft4Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from meka.wire.formats import FORMATS

Check = Callable[..., Iterator[ValidationError]]


def _or_null(check: Check) -> Check:
    """A keyword's check that lets a null pass where the schema is `nullable` (OpenAPI 3.0)."""

    def check_unless_null(validator: Any, keyword: Any, instance: Any, schema: Any) -> Any:
        if instance is None and schema.get("nullable"):
            return
        yield from check(validator, keyword, instance, schema) or ()

    return check_unless_null


def _type(validator: Any, types: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, types):
        yield ValidationError("")


def _enum(_validator: Any, choices: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not any(type(choice) is type(instance) and choice == instance for choice in choices):
        yield ValidationError("")


def _format(_validator: Any, name: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and name in FORMATS and FORMATS[name](instance) is None:
        yield ValidationError("")


def _any_of(validator: Any, branches: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    causes: list[ValidationError] = []
    for index, branch in enumerate(branches):
        found = list(validator.descend(instance, branch, schema_path=index))
        if not found:
            return
        causes += found
    yield ValidationError("", context=causes)


def _additional(_validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]) -> Any:
    """`additionalProperties`, which says only yes or no in the document."""
    known = schema.get("properties", {})
    if allowed is False and isinstance(instance, dict) and not all(name in known for name in instance):
        yield ValidationError("")


RequestValidator = extend(  # type: ignore[no-untyped-call]
    Draft4Validator,
    {
        "type": _or_null(_type),
        "enum": _or_null(_enum),
        "anyOf": _or_null(_any_of),
        "format": _format,
        "additionalProperties": _additional,
    }
    | {keyword: _or_null(Draft4Validator.VALIDATORS[keyword]) for keyword in ("allOf", "oneOf", "not")},
)

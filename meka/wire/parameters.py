"""Parameters of path, query and header: checked against the document, handed on as typed arguments."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import flask
from werkzeug.datastructures import Headers, MultiDict

from meka.base.errors import InvalidBodyError
from meka.base.text import scrub
from meka.wire.formats import FORMAT_NAMES, FORMATS
from meka.wire.schemas import CompiledSchema

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False}

# Where the document does not say it with x-invalid-status (rulings 2).
_UNPROCESSABLE = frozenset({"cursor", "status", "format", "Idempotency-Key"})


class _UnreadableError(ValueError):
    """A value that is not of its parameter's type, in words."""


@dataclass(frozen=True, slots=True)
class _Fault:
    status: int
    text: str


def _read_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _UnreadableError("must be an integer")
    return int(text)


def _read_boolean(text: str) -> bool:
    if text not in _BOOLEANS:
        raise _UnreadableError("must be true or false")
    return _BOOLEANS[text]


def _read_format(name: str, text: str) -> object:
    value = FORMATS[name](text)
    if value is None:
        raise _UnreadableError(f"must be {FORMAT_NAMES[name]}")
    return value


def _reader(schema: Mapping[str, Any]) -> Callable[[str], object]:
    match schema.get("type"):
        case "integer":
            return _read_integer
        case "boolean":
            return _read_boolean
        case "string" if schema.get("format") in FORMATS:
            return functools.partial(_read_format, schema["format"])
        case "string":
            return scrub
    raise ValueError(f"a parameter cannot be of type {schema.get('type')!r}")


class Parameter:
    """One parameter of an operation. A uuid arrives in its canonical spelling, a date-time as one in UTC."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        schema = definition["schema"]
        self.name: str = definition["name"]
        self.place: str = definition["in"]
        self.argument = self.name.replace("-", "_").lower() if self.place == "header" else self.name
        self._required = bool(definition.get("required"))
        self._has_default, self._default = "default" in schema, schema.get("default")
        self._status = definition.get("x-invalid-status", 422 if self.name in _UNPROCESSABLE else 400)
        self._read = _reader(schema)
        self._parsed = schema.get("format") in FORMATS
        self._schema = CompiledSchema(schema)

    def read(self, given: list[str], arguments: dict[str, object]) -> _Fault | None:
        """Put the value in `given` (all the request has of it) into `arguments`, or say what is wrong."""
        if len(given) > 1:
            return self._fault(400, "is given more than once")
        if not given:
            return self._default_into(arguments)
        try:
            value = self._read(given[0])
        except _UnreadableError as error:
            return self._fault(self._status, str(error))
        faults = [] if self._parsed else self._schema.faults(value)
        if faults:
            return self._fault(self._status, faults[0].text)
        arguments[self.argument] = value
        return None

    def _default_into(self, arguments: dict[str, object]) -> _Fault | None:
        if self._required:
            return self._fault(self._status, "is missing")
        if self._has_default:
            arguments.setdefault(self.argument, self._default)
        return None

    def _fault(self, status: int, text: str) -> _Fault:
        return _Fault(status, f"{self.place} parameter `{self.name}` {text}")


# Headers last: where a header and a query parameter share an argument (last_event_id), the header wins.
_ORDER = ("path", "query", "header")


class ParameterValidator:
    """Connexion's hook for parameters (`validator_map["parameter"]`), compiled once at start.

    What is wrong is told for all of them at once: as a 400, or as a 422 where that is the status of all.
    Query parameters that the document does not know are ignored.
    """

    def __init__(self, parameters: Iterable[Mapping[str, Any]], api: object, strict_validation: bool = False):
        known = [Parameter(definition) for definition in parameters if definition["in"] in _ORDER]
        self._parameters = sorted(known, key=lambda parameter: _ORDER.index(parameter.place))

    def __call__(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap `function`, which takes connexion's request."""

        @functools.wraps(function)
        def check_then_call(request: Any) -> Any:
            # Connexion passes the context on as it is; its own conversion would make text of everything.
            request.context.update(self.read(request.path_params, flask.request.args, flask.request.headers))
            request.path_params = {}
            return function(request)

        return check_then_call

    def read(
        self, path: Mapping[str, str], query: "MultiDict[str, str]", headers: Headers
    ) -> dict[str, object]:
        """The typed arguments. Raises: `InvalidBodyError` naming each parameter at fault."""
        arguments: dict[str, object] = {}
        faults = []
        for parameter in self._parameters:
            fault = parameter.read(_given(parameter, path, query, headers), arguments)
            if fault is not None:
                faults.append(fault)
        if faults:
            detail = "; ".join(fault.text for fault in faults)
            raise InvalidBodyError(detail, status=min(fault.status for fault in faults))
        return arguments


def _given(
    parameter: Parameter, path: Mapping[str, str], query: "MultiDict[str, str]", headers: Headers
) -> list[str]:
    if parameter.place == "query":
        return query.getlist(parameter.name)
    value = path.get(parameter.name) if parameter.place == "path" else headers.get(parameter.name)
    return [] if value is None else [value]

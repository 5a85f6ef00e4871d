"""Holds answers and events to the document, and notes which answers of it were seen."""

import copy
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import Draft4Validator
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_schema_validator import oas30_format_checker
from werkzeug.datastructures import Headers

from tests.serving import Event
from tools.codegen.document import Document, load

ROOT = Path(__file__).resolve().parents[2]
TYPE_PREFIX = "https://meka.run/errors/"
PROBLEM_JSON = "application/problem+json"
EVENT_STREAM = "text/event-stream"
_PLAIN_MEMBERS = {"type", "title", "status", "detail", "instance"}


class Answered(NamedTuple):
    """One kind of answer: `slug` is empty for a success."""

    operation: str
    status: int
    slug: str = ""


def drives(*answers: tuple[str, int, str] | tuple[str, int]) -> pytest.MarkDecorator:
    """Mark a test with the answers it is there to see; it fails when it did not see one of them."""
    return pytest.mark.drives(*(Answered(*answer) for answer in answers))


@dataclass(frozen=True)
class Given:
    """A request and its answer, in the shape that openapi-core reads both from."""

    method: str
    path: str
    status_code: int
    headers: Headers
    data: bytes | None
    host_url: str = "http://meka.test"
    body: bytes | None = None
    parameters: RequestParameters = field(default_factory=RequestParameters)

    @property
    def content_type(self) -> str:
        return self.headers.get("Content-Type", "")


class Contract:
    """The document, with its answers closed: a member that it does not name is a fault."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._closed = closed(document.raw)
        self._api = OpenAPI.from_dict(
            self._closed,
            config=Config(
                extra_media_type_deserializers={
                    PROBLEM_JSON: json.loads,
                    EVENT_STREAM: bytes.decode,
                    "text/markdown": lambda raw, **_: raw.decode(),
                }
            ),
        )
        self._routes = [
            (operation.method.lower(), _pattern(operation.path), operation)
            for operation in document.operations()
        ]

    def operation_at(self, method: str, path: str) -> Any:
        """The operation of a request, or None. A path that is written out has its own operations alone."""
        written_out = [each for _, _, each in self._routes if each.path == path]
        routes = [route for route in self._routes if not written_out or route[2] in written_out]
        return next(
            (each for verb, pattern, each in routes if verb == method.lower() and pattern.fullmatch(path)),
            None,
        )

    def check(
        self, method: str, url: str, status: int, headers: Iterable[tuple[str, str]], body: bytes | None
    ) -> Answered | None:
        """Hold one answer to the document. Shape: what it was; None where the document has no operation."""
        path = urlsplit(url).path
        given = Given(method.lower(), path, status, _as_documented(headers), body or None)
        problem = json.loads(body or b"{}") if given.content_type == PROBLEM_JSON else None
        if problem is not None:
            self._check_problem(problem, given)
        operation = self.operation_at(method, unquote(path))
        if operation is None:
            assert problem is not None, f"{method} {path} is not in the document, yet was answered"
            return None
        self._api.validate_response(given, given)  # type: ignore[arg-type]
        if body and given.content_type == "application/json" and operation.id != "get_openapi":
            assert not _has_null(json.loads(body)), "an answer holds null"
        slug = problem["type"].removeprefix(TYPE_PREFIX) if problem else ""
        if problem is not None:
            assert slug in operation.problems[status], f"{operation.id} does not list {status} {slug}"
        return Answered(operation.id, status, slug)

    def _check_problem(self, problem: Mapping[str, Any], given: Given) -> None:
        assert problem["type"].startswith(TYPE_PREFIX)
        kind = self.document.problems[problem["type"].removeprefix(TYPE_PREFIX)]
        assert problem["title"] == kind["title"]
        assert problem["status"] == given.status_code
        assert given.status_code in kind["statuses"]
        assert unquote(problem["instance"]) == unquote(given.path)
        assert problem["instance"].isascii()
        assert problem["instance"].isprintable()
        assert set(problem) - _PLAIN_MEMBERS <= set(kind["members"])
        assert given.headers.get("Retry-After") == _text_of(problem.get("retry_after"))
        challenge = 'Bearer realm="meka"' if given.status_code == 401 else None
        assert given.headers.get("WWW-Authenticate") == challenge

    def check_events(self, events: Iterable[Event], feed: str) -> None:
        """Hold the events of one feed to the document: names, payloads, numbers and endings."""
        newest = None
        for event in events:
            kind = self.document.events[event.name]
            assert feed in kind["feeds"], f"{event.name} is not for the {feed} feed"
            assert not _has_null(event.data), f"{event.name} holds null"
            self._check_payload(kind["schema"], event)
            assert (event.id is not None) == kind["numbered"], f"{event.name} {event.id}"
            if event.id is not None:
                assert newest is None or event.id == newest + 1
                newest = event.id

    def _check_payload(self, schema: Mapping[str, Any], event: Event) -> None:
        validator = Draft4Validator(
            {**schema, "components": self._closed["components"]}, format_checker=oas30_format_checker
        )
        faults = [f"{event.name}: {fault.message}" for fault in validator.iter_errors(event.data)]
        assert faults == []
        if event.name == "turn.failed":
            error = event.data["error"]
            kind = self.document.problems[error["type"].removeprefix(TYPE_PREFIX)]
            assert error["title"] == kind["title"]
            assert set(error) - _PLAIN_MEMBERS <= set(kind["members"])

    def is_terminal(self, name: str) -> bool:
        """Whether an event of this name ends its turn."""
        return bool(self.document.events[name]["terminal"])


@cache
def the_contract() -> Contract:
    """The document of this tree."""
    return Contract(load(ROOT / "openapi.yaml"))


def closed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which no object may have members that its schema does not name."""
    ours = copy.deepcopy(dict(document))
    schemas = ours["components"]["schemas"]
    ours["components"]["schemas"] = {
        name: _closed_schema(schema, schemas) for name, schema in schemas.items()
    }
    return ours


def _closed_schema(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    merged = _merged(schema, schemas) if "allOf" in schema else dict(schema)
    if "properties" in merged and "additionalProperties" not in merged:
        merged["additionalProperties"] = False
    return merged


def _merged(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of an allOf as one object: each alone would refuse what the others name."""
    if "$ref" in schema:
        return _merged(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "allOf" not in schema:
        return dict(schema)
    whole: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for part in schema["allOf"]:
        merged = _merged(part, schemas)
        whole["properties"] |= merged.get("properties", {})
        whole["required"] += merged.get("required", [])
    return whole


def _as_documented(headers: Iterable[tuple[str, str]]) -> Headers:
    """An image is answered under its own media type, and documented as bytes."""
    given = Headers(list(headers))
    if given.get("Content-Type", "").startswith("image/"):
        given["Content-Type"] = "application/octet-stream"
    return given


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", path))


def _text_of(value: object) -> str | None:
    return None if value is None else str(value)


def _has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(item is None or _has_null(item) for item in value.values())
    return isinstance(value, list) and any(item is None or _has_null(item) for item in value)


def least_body(operation_id: str) -> dict[str, Any]:
    """The least request body that the document lets an operation take."""
    document = the_contract().document
    spec = next(each.spec for each in document.operations() if each.spec["operationId"] == operation_id)
    content = document.resolve(spec["requestBody"])["content"]["application/json"]
    schema = document.resolve(content["schema"])
    return {
        name: _least_value(document.resolve(schema["properties"][name]))
        for name in schema.get("required", ())
    }


def _least_value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "x", "boolean": False, "integer": 1, "object": {}, "array": []}[schema["type"]]

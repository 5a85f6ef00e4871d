"""A small document with an operation of each kind, its handlers, and a client of the application."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import flask
from flask.testing import FlaskClient

from meka.base.errors import ConcurrencyLimitError, MekaError
from meka.wire.app import build_app
from meka.wire.auth import Tokens, current_token
from meka.wire.bodies import body_digest

UUID = "0189e5a0-0000-7000-8000-00000000000a"
AUTH = {"Authorization": "Bearer writer"}

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
_ANSWERS = {"200": {"description": "Done."}}


def _query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}


def _operation(name: str, *parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "operationId": name,
        "x-openapi-router-controller": "fixture",
        "responses": _ANSWERS,
        "parameters": list(parameters),
        **more,
    }


def _body(schema: str, *, required: bool, **more: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"required": required, "content": content, **more}


_READ = {"x-scopes": {"all": ["sessions:r"]}}
_WRITE = {"x-scopes": {"all": ["sessions:w"]}}
_ANY = {"x-scopes": {"any": ["mcp:r", "skills:r"]}}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "fixture", "version": "1"},
    "servers": [{"url": "/"}],
    "security": [{"bearer": []}],
    "paths": {
        "/v1/live": {"get": _operation("live", security=[])},
        "/v1/info": {"get": _operation("info", **_ANY)},
        "/v1/things": {
            "get": _operation(
                "list_things",
                _query("limit", type="integer", minimum=0, default=50),
                _query("pinned", type="boolean"),
                _query("parent", type="string", format="uuid"),
                _query("updated_since", type="string", format="date-time"),
                _query("cursor", type="string", maxLength=8),
                _query("status", type="string", enum=["open", "done"]),
                _query("q", type="string"),
                _query("last_event_id", type="string"),
                {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}},
                **_READ,
            ),
            "post": _operation("create_thing", requestBody=_body("Thing", required=True), **_WRITE),
        },
        "/v1/things/{id}": {
            "parameters": [_ID],
            "get": _operation("get_thing", **_READ),
            "post": _operation(
                "poke", requestBody=_body("Poke", required=False, **{"x-body-name": "poking"}), **_WRITE
            ),
            "delete": _operation(
                "fail", {"name": "how", "in": "query", "schema": {"type": "string"}}, **_WRITE
            ),
        },
    },
    "components": {
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Thing": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "size"],
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 400000},
                    "size": {"type": "integer", "minimum": 1, "maximum": 9},
                    "level": {"type": "string", "nullable": True, "enum": ["low", "high", None]},
                    "when": {"type": "string", "format": "date-time", "nullable": True},
                    "unset": {"type": "string", "nullable": True, "x-keep-null": True},
                    "weight": {"type": "number"},
                    "options": {"allOf": [{"$ref": "#/components/schemas/Options"}], "nullable": True},
                    "parts": {"type": "array", "maxItems": 3, "items": {"$ref": "#/components/schemas/Part"}},
                    "free": {"type": "object", "additionalProperties": True},
                },
            },
            "Options": {
                "type": "object",
                "additionalProperties": False,
                "required": ["shade"],
                "properties": {
                    "color": {"type": "string", "nullable": True},
                    "shade": {"type": "integer", "nullable": True},
                },
            },
            "Part": {
                "oneOf": [
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["kind", "hash"],
                        "properties": {
                            "kind": {"type": "string", "enum": ["hash"]},
                            "hash": {"type": "string"},
                        },
                    },
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["kind", "data"],
                        "properties": {
                            "kind": {"type": "string", "enum": ["data"]},
                            "data": {"type": "string"},
                            "note": {"type": "string", "nullable": True},
                        },
                    },
                ]
            },
            "Poke": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"force": {"type": "boolean", "nullable": True}},
            },
        },
    },
}


@dataclass(frozen=True)
class Known:
    secret: str
    description: str
    scopes: frozenset[str]


TOKENS = (
    Known("writer", "all of it", frozenset({"sessions:r", "sessions:w", "mcp:r"})),
    Known("reader", "reads", frozenset({"sessions:r"})),
    Known("schlüssel", "not ASCII", frozenset({"sessions:r"})),
)


@dataclass
class Calls:
    """Stands for the services: notes what handlers were called with."""

    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def last(self) -> dict[str, Any]:
        return self.seen[-1][1]


class TeapotError(RuntimeError):
    pass


def fail(calls: Calls, id: str, how: str) -> None:
    if how == "limit":
        raise ConcurrencyLimitError("too many turns", retry_after=7)
    if how == "known":
        raise MekaError("our own sentence")
    raise TeapotError("a secret of ours")


def live(_calls: Calls) -> dict[str, Any]:
    return {"status": "ok"}


def info(calls: Calls) -> tuple[dict[str, Any], int, dict[str, str]]:
    token = current_token()
    return {"fingerprint": token.fingerprint, "scopes": sorted(token.scopes)}, 201, {"X-Extra": "yes"}


def list_things(calls: Calls, limit: int, **filters: Any) -> dict[str, Any]:
    calls.seen.append(("list_things", {"limit": limit, **filters}))
    return {"things": []}


def create_thing(calls: Calls, body: dict[str, Any]) -> dict[str, Any]:
    calls.seen.append(("create_thing", body))
    return {"digest": body_digest()}


def get_thing(calls: Calls, id: str) -> flask.Response:
    calls.seen.append(("get_thing", {"id": id}))
    return flask.Response(b"raw", content_type="application/octet-stream")


def poke(calls: Calls, id: str, body: dict[str, Any]) -> None:
    calls.seen.append(("poke", body))


_HANDLERS: dict[str, Callable[..., Any]] = {
    f"fixture.{handler.__name__}": handler
    for handler in (fail, live, info, list_things, create_thing, get_thing, poke)
}


def make_client(
    calls: Calls, document: dict[str, Any] | None = None, tokens: Tokens | None = None, **options: Any
) -> FlaskClient:
    find_token = tokens or Tokens(TOKENS)
    app = build_app(calls, document or DOCUMENT, find_token, find_handler=_HANDLERS.__getitem__, **options)
    return app.test_client()

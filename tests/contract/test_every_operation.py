"""What holds of every operation alike: tokens, scopes, sizes, types, faults of ours, HEAD and OPTIONS."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import flask
import pytest

from meka.base.errors import StoreUnavailableError
from meka.schema.operations import OPERATIONS, Operation
from meka.wire.app import build_app
from meka.wire.auth import Token
from tests.contract.bench import NOWHERE, SEEN, Bench, slug_of
from tests.contract.checking import drives, least_body, the_contract

CONTRACT = the_contract()


def path_of(operation: Operation) -> str:
    """The operation's path with ids and names that nothing has, and the query that it cannot do without."""
    (documented,) = (each for each in CONTRACT.document.operations() if each.id == operation.id)
    needed = [
        each["name"]
        for each in CONTRACT.document.parameters(documented)
        if each["in"] == "query" and each.get("required")
    ]
    query = "?" + "&".join(f"{name}=x" for name in needed) if needed else ""
    return re.sub(r"\{\w+\}", NOWHERE, operation.path) + query


def body_of(operation: Operation) -> dict[str, Any] | None:
    """The least body that the document lets the operation take."""
    return least_body(operation.id) if operation.body_types else None


def each(
    status: int, slug: str, chosen: Callable[[Operation], Any] = lambda operation: True
) -> pytest.MarkDecorator:
    """A case for each operation that `chosen` picks, marked with the answer it is there to see."""
    return pytest.mark.parametrize(
        "operation",
        [
            pytest.param(operation, id=operation.id, marks=drives((operation.id, status, slug)))
            for operation in OPERATIONS.values()
            if chosen(operation)
        ],
    )


def takes_token(operation: Operation) -> bool:
    return operation.scopes is not None


def takes_body(operation: Operation) -> bool:
    return bool(operation.body_types)


@each(401, "auth", takes_token)
@pytest.mark.parametrize("header", [None, "Bearer ", "Basic ZXZlcnl0aGluZzo=", "Bearer unknown"])
def test_operation_refuses_who_has_no_known_token(
    bench: Bench, operation: Operation, header: str | None
) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = bench.client_with(None).call(operation.method, path_of(operation), headers=headers)
    assert answer.status_code == 401


@each(403, "auth-scope", takes_token)
def test_operation_refuses_a_token_that_lacks_its_scope(bench: Bench, operation: Operation) -> None:
    assert operation.scopes is not None
    if operation.scopes.any:
        token, detail = "writes-only", f"one of {', '.join(map(repr, operation.scopes.any))} is required"
    else:
        token, detail = f"without-{operation.scopes.all[0]}", f"scope '{operation.scopes.all[0]}' is required"
    answer = bench.client_with(token).call(operation.method, path_of(operation))
    assert answer.status_code == 403
    assert answer.json()["detail"] == detail


@each(413, "payload-too-large", takes_body)
def test_operation_refuses_a_body_past_the_limit(bench: Bench, operation: Operation) -> None:
    answer = bench.client.call(
        operation.method, path_of(operation), data=b" " * 65537, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413
    assert answer.json()["max_body_bytes"] == 65536


@each(413, "payload-too-large", takes_body)
def test_operation_refuses_a_chunked_body_past_the_limit(bench: Bench, operation: Operation) -> None:
    answer = bench.client.call(
        operation.method,
        path_of(operation),
        data=iter([b" " * 40000] * 2),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 413


@each(415, "unsupported-media-type", takes_body)
@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_operation_refuses_a_body_that_is_not_json(
    bench: Bench, operation: Operation, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = bench.client.call(operation.method, path_of(operation), data=b"{}", headers=headers)
    assert answer.status_code == 415


BAD_BODIES = {
    "no JSON": b"{",
    "NaN": b'{"message": NaN}',
    "invalid UTF-8": b'{"message": "\xff"}',
    "too deep": b'{"message": ' + b"[" * 65 + b"]" * 65 + b"}",
    "no object": b"[]",
    "unknown field": b'{"message": "x", "titel": "x", "turn": 1}',
    "a key twice": b'{"message": "x", "message": "y"}',
}


@each(422, "invalid-body", takes_body)
@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_operation_refuses_a_body_that_does_not_parse(
    bench: Bench, operation: Operation, body: bytes
) -> None:
    answer = bench.client.call(
        operation.method, path_of(operation), data=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("invalid ")
    assert " request body: " in answer.json()["detail"]


@each(400, "invalid-body", lambda operation: "{id}" in operation.path)
@pytest.mark.parametrize("session_id", ["nope", "3f2b8c1e", NOWHERE + "0", "%00", "{" + NOWHERE + "}"])
def test_operation_refuses_a_session_id_that_is_no_uuid(
    bench: Bench, operation: Operation, session_id: str
) -> None:
    answer = bench.client.call(
        operation.method,
        re.sub(r"\{\w+\}", NOWHERE, operation.path.replace("{id}", session_id)),
        json=body_of(operation),
    )
    assert answer.status_code == 400
    assert "`id`" in answer.json()["detail"]


@each(404, "session-not-found", lambda operation: "session-not-found" in operation.problems.get(404, ()))
def test_operation_says_when_there_is_no_such_session(bench: Bench, operation: Operation) -> None:
    answer = bench.client.call(operation.method, path_of(operation), json=body_of(operation))
    assert answer.status_code == 404
    assert answer.json()["session_id"] == NOWHERE
    assert answer.json()["detail"] == f"session '{NOWHERE}' not found"


# HEAD, OPTIONS, unknown paths and methods (rulings 1 and 49)


@pytest.mark.parametrize(
    "operation", [op for op in OPERATIONS.values() if op.method == "GET"], ids=lambda op: op.id
)
def test_head_is_what_get_is_without_a_body(bench: Bench, operation: Operation) -> None:
    for client in (bench.client, bench.client_with("writes-only"), bench.client_with(None)):
        got = client.call("GET", path_of(operation), stream=True)
        got.close()
        head = client.call("HEAD", path_of(operation))
        assert head.status_code == got.status_code
        assert head.content == b""
        assert _plain(head.headers) == _plain(got.headers)


def _plain(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers but for the time, and for how a stream of no known length is framed."""
    return {name: value for name, value in headers.items() if name not in ("Date", "Transfer-Encoding")}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_other_methods_are_not_allowed(bench: Bench, operation: Operation) -> None:
    allowed = {each.method for each in OPERATIONS.values() if each.path == operation.path}
    allowed |= {"HEAD"} if "GET" in allowed else set()
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} - allowed:
        answer = bench.client_with(None).call(method, path_of(operation))
        assert answer.status_code == 405
        assert set(answer.headers["Allow"].split(", ")) == allowed
        if method != "HEAD":
            assert slug_of(answer) == "method-not-allowed"


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/sessions/", "/v2/info", "/v1//info", "/v1/sessions/a%2Fb", "/static/x"]
)
def test_unknown_path_is_not_found(bench: Bench, path: str) -> None:
    answer = bench.client.call("GET", path)
    assert answer.status_code in (400, 404)
    assert slug_of(answer) in ("not-found", "invalid-body")


# Faults of ours and of the store, with handlers that fail in process


def app_that_fails(error: Exception) -> flask.Flask:
    def fail(_services: object, **_: object) -> None:
        raise error

    everything = Token("0" * 16, "", frozenset(scope for op in OPERATIONS.values() for scope in _scopes(op)))
    return build_app(None, CONTRACT.document.raw, lambda _: everything, find_handler=lambda _: fail)


def _scopes(operation: Operation) -> tuple[str, ...]:
    return (*operation.scopes.all, *operation.scopes.any) if operation.scopes else ()


def called(app: flask.Flask, operation: Operation) -> Mapping[str, Any]:
    """The problem an operation answers with, checked."""
    answer = app.test_client().open(
        path_of(operation),
        method=operation.method,
        headers={"Authorization": "Bearer x"},
        json=body_of(operation),
    )
    seen = CONTRACT.check(
        operation.method, path_of(operation), answer.status_code, answer.headers.items(), answer.data
    )
    assert seen is not None
    SEEN.add(seen)
    problem: Mapping[str, Any] = json.loads(answer.data)
    return problem


@each(500, "internal")
def test_operation_says_nothing_of_a_fault_of_ours(operation: Operation) -> None:
    problem = called(app_that_fails(RuntimeError("a secret path /etc/x")), operation)
    assert problem["status"] == 500
    assert problem["detail"] == "internal server error; consult server logs"
    assert "secret" not in json.dumps(problem)


@each(503, "store-unavailable", lambda operation: "store-unavailable" in operation.problems.get(503, ()))
def test_operation_says_that_the_store_is_unavailable(operation: Operation) -> None:
    problem = called(app_that_fails(StoreUnavailableError()), operation)
    assert problem["retry_after"] == 1

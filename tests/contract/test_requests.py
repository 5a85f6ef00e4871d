"""What the wire makes of requests, going by `openapi.yaml`, ahead of any handler."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from meka.wire.app import Handler, build_app
from meka.wire.auth import Token
from tools.codegen.document import load

DOCUMENT = load(Path(__file__).resolve().parents[2] / "openapi.yaml")
SESSION = "550e8400-e29b-41d4-a716-446655440000"
TURN = f"/v1/sessions/{SESSION}/turn"
INBOX = f"/v1/sessions/{SESSION}/inbox"
STREAM = f"/v1/sessions/{SESSION}/stream"
ANSWER = f"/v1/sessions/{SESSION}/responses/req_1"


class Handlers:
    """Stands for every handler, and keeps what the last one was called with."""

    def __init__(self) -> None:
        self.called: list[tuple[str, dict[str, Any]]] = []

    def find(self, name: str) -> Handler:
        def handle(services: object, **arguments: Any) -> None:
            self.called.append((name, arguments))

        return handle


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
def client(handlers: Handlers) -> FlaskClient:
    scopes = frozenset({"sessions:r", "sessions:w"})
    app = build_app(None, DOCUMENT.raw, lambda _: Token("print", "", scopes), find_handler=handlers.find)
    return app.test_client()


def send(
    client: FlaskClient, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
) -> TestResponse:
    sent = {"Authorization": "Bearer t"} | dict(headers or {})
    return client.open(path, method=method, headers=sent, **options)


def refusal(response: TestResponse) -> tuple[int, str, str]:
    body = response.get_json(force=True)
    return response.status_code, body["type"].rsplit("/", 1)[1], body["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [(TURN, {"message": "hello"}), (INBOX, {"message": "hello", "class": "steer"})],
)
@pytest.mark.parametrize(
    ("key", "complaint"),
    [("", "must not be empty"), ("k" * 256, "at most 255 characters"), ("cl\xe9", "must match")],
)
def test_idempotency_key_is_refused_when_it_is_none(
    client: FlaskClient, handlers: Handlers, path: str, body: object, key: str, complaint: str
) -> None:
    status, kind, detail = refusal(send(client, "POST", path, {"Idempotency-Key": key}, json=body))
    assert (status, kind) == (422, "invalid-body")
    assert "`Idempotency-Key`" in detail
    assert complaint in detail
    assert handlers.called == []


def test_idempotency_key_reaches_the_handler(client: FlaskClient, handlers: Handlers) -> None:
    send(client, "POST", INBOX, {"Idempotency-Key": "k" * 255}, json={"message": "hello", "class": "steer"})
    ((name, arguments),) = handlers.called
    assert name == "handlers.inbox.post_inbox"
    assert arguments["idempotency_key"] == "k" * 255


@pytest.mark.parametrize(
    ("headers", "query", "position"),
    [
        ({"Last-Event-ID": "7"}, {"last_event_id": "3"}, "7"),
        ({}, {"last_event_id": "3"}, "3"),
        ({"Last-Event-ID": "no id of ours"}, {}, "no id of ours"),
        ({}, {}, None),
    ],
)
@pytest.mark.parametrize("path", [STREAM, "/v1/stream"])
def test_stream_position_is_the_headers_before_the_querys(
    client: FlaskClient,
    handlers: Handlers,
    path: str,
    headers: dict[str, str],
    query: dict[str, str],
    position: str | None,
) -> None:
    send(client, "GET", path, headers, query_string=query)
    ((_, arguments),) = handlers.called
    assert arguments.get("last_event_id") == position


def test_stream_attends_only_when_it_is_asked_to(client: FlaskClient, handlers: Handlers) -> None:
    send(client, "GET", STREAM)
    send(client, "GET", STREAM, query_string={"attend": "true"})
    assert [arguments["attend"] for _, arguments in handlers.called] == [False, True]
    assert refusal(send(client, "GET", STREAM, query_string={"attend": "1"}))[:2] == (400, "invalid-body")


def test_task_status_is_refused_when_there_is_none_of_that_name(
    client: FlaskClient, handlers: Handlers
) -> None:
    status, kind, detail = refusal(send(client, "GET", "/v1/tasks", query_string={"status": "done"}))
    assert (status, kind) == (422, "invalid-body")
    assert "'interrupted'" in detail
    send(client, "GET", "/v1/tasks", query_string={"status": "running"})
    assert handlers.called == [("handlers.tasks.list_tasks", {"status": "running"})]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", f"{INBOX}/17", 400),
        ("DELETE", f"/v1/sessions/{SESSION}/tasks/17", 204),
        ("DELETE", "/v1/sessions/17/tasks/17", 400),
        ("GET", "/v1/sessions/17/stream", 400),
    ],
)
def test_id_is_checked_where_it_must_be_a_uuid(
    client: FlaskClient, method: str, path: str, status: int
) -> None:
    assert send(client, method, path).status_code == status


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (INBOX, {"message": "hello"}, "invalid inbox request body: `class` is missing"),
        (INBOX, {"class": "steer", "message": "hello", "images": []}, "`images` is not a known field"),
        (INBOX, {"class": "later", "message": "hello"}, "`class` must be one of 'steer'"),
        (ANSWER, {}, "invalid response request body: `outcome` is missing"),
        (ANSWER, {"outcome": "accept", "content": "Ada"}, "`content` must be an object"),
        (ANSWER, {"outcome": "maybe"}, "`outcome` must be one of 'allow'"),
    ],
)
def test_body_is_refused_with_the_field_at_fault(
    client: FlaskClient, handlers: Handlers, path: str, body: object, detail: str
) -> None:
    status, kind, given = refusal(send(client, "POST", path, json=body))
    assert (status, kind) == (422, "invalid-body")
    assert detail in given
    assert handlers.called == []


def test_answers_content_keeps_what_its_form_asked_for(client: FlaskClient, handlers: Handlers) -> None:
    content = {"name": "Ada", "nickname": None}
    send(client, "POST", ANSWER, json={"outcome": "accept", "content": content})
    ((_, arguments),) = handlers.called
    assert arguments["request_id"] == "req_1"
    assert arguments["body"] == {"outcome": "accept", "content": content}

"""Case 14: an unknown id, broken JSON, an unknown field."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.support import slug, turns_of, wired_server
from tests.loopback_provider import LoopbackProvider
from tests.serving import Client, say

NOWHERE = "3f2b8c1e-0000-4000-8000-000000000000"
World = tuple[Client, LoopbackProvider]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root: Path = tmp_path_factory.mktemp("wrong")
    with LoopbackProvider(default=say("ran")) as upstream, wired_server(root, upstream) as server:
        yield server.client(), upstream


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("GET", "/messages", None),
        ("GET", "/turns", None),
        ("GET", f"/turns/{NOWHERE}", None),
        ("GET", "/stream", None),
        ("GET", "/tasks", None),
        ("GET", "/inbox", None),
        ("POST", "/turn", {"message": "go"}),
        ("POST", "/turn", {"message": "go", "stream": True}),
        ("POST", "/turn", {"message": "go", "detach": True}),
        ("POST", "/inbox", {"message": "go", "class": "steer"}),
    ],
)
def test_unknown_session_is_a_404(world: World, method: str, path: str, body: object) -> None:
    client, upstream = world
    answer = client.call(method, f"/v1/sessions/{NOWHERE}{path}", json=body)
    assert (answer.status_code, slug(answer)) == (404, "session-not-found")
    assert answer.json()["detail"] == f"session '{NOWHERE}' not found"
    assert upstream.requests == []


def test_deleting_an_unknown_session_is_done_already(world: World) -> None:
    assert world[0].call("DELETE", f"/v1/sessions/{NOWHERE}").status_code == 204


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"[]", b"null", b'"go"', b"{'message': 'go'}", b'{"message": "go"', b'{"message": NaN}',
        b'{"message": "go"}}', b"\xff\xfe{}", b'{"message": "\xff"}', b'{"message": "go", "message": "went"}',
        b"[" * 100_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"message": "go"} trailing',
        b'{"message": 1}', b'{"message": ["go"]}', b'{"message": null}', b"1e999",
        b'{"message": "go", "stream": 1}',
    ],
)  # fmt: skip
def test_broken_body_is_refused_and_runs_nothing(world: World, raw: bytes) -> None:
    client, upstream = world
    session = client.session()
    answer = client.call(
        "POST", f"/v1/sessions/{session}/turn", data=raw, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, slug(answer)) == (422, "invalid-body"), answer.text
    assert turns_of(client, session) == []
    assert upstream.requests == []


@pytest.mark.parametrize(
    "extra",
    [
        {"mesage": "typo"},
        {"system": "x"},
        {"options": {"unknown": True}},
        {"images": [{"hash": "0" * 64, "url": "http://127.0.0.1"}]},
        {"model": "other"},
        {"": 1},
        {"__proto__": {}},
    ],
)
def test_unknown_field_never_runs_a_turn(world: World, extra: dict[str, object]) -> None:
    client, upstream = world
    session = client.session()
    for more in ({}, {"stream": True}, {"detach": True}):
        answer = client.turn(session, "go", **extra, **more)
        assert (answer.status_code, slug(answer)) == (422, "invalid-body")
    assert client.messages(session) == []
    assert upstream.requests == []


def test_session_is_usable_after_each_of_them(tmp_path: Path) -> None:
    with LoopbackProvider([say("ran")]) as upstream, wired_server(tmp_path, upstream) as server:
        client = server.client()
        session = client.session()
        assert client.turn(session, "go", mesage="typo").status_code == 422
        assert client.turn(session, "go").status_code == 200
        assert len(upstream.requests) == 1

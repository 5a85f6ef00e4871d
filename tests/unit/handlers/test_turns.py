"""`POST /turn` with an Idempotency-Key: what runs, what is answered again, and what is forgotten."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from handlers.turns import submit_turn
from meka.base.errors import (
    ConcurrencyLimitError,
    InvalidBodyError,
    MekaError,
    ProviderFailedError,
    SessionLockedError,
    SessionNotFoundError,
    StoreUnavailableError,
    TurnCanceledError,
    TurnInFlightError,
)
from meka.composition import read_document
from meka.service.held_streams import HeldStreams
from meka.service.idempotency import IdempotencyKeys
from meka.wire.app import build_app
from meka.wire.auth import Tokens
from tests.fakes import FakeClock

SESSION = "0189e5a0-0000-7000-8000-00000000000a"
PATH = f"/v1/sessions/{SESSION}/turn"


@dataclass(frozen=True)
class Known:
    secret: str
    description: str
    scopes: frozenset[str]


@dataclass
class FakeTurn:
    """A turn that ended before anybody asks."""

    id: str
    session_id: str
    error: MekaError | None
    reader: object | None
    record_error: MekaError | None
    frames: list[bytes] = field(default_factory=lambda: [b"event: turn.finished\ndata: {}\n\n"])
    closed: int = 0

    def answer(self) -> Mapping[str, Any]:
        if self.error is not None:
            raise self.error
        return {"turn_id": self.id}

    def record(self) -> Mapping[str, Any]:
        if self.record_error is not None:
            raise self.record_error
        return {"turn_id": self.id, "status": "running"}

    def next_frames(self, _timeout_seconds: float) -> list[bytes] | None:
        return [self.frames.pop()] if self.frames else None

    def close(self) -> None:
        self.closed += 1

    def leave(self) -> None:
        pass


@dataclass
class FakeTurns:
    """Counts the turns that were begun; `refusal` refuses the next, `error` is how they end."""

    refusal: MekaError | None = None
    error: MekaError | None = None
    record_error: MekaError | None = None
    meanwhile: Callable[[], None] = lambda: None
    begun: list[FakeTurn] = field(default_factory=list)

    def submit(self, session_id: str, body: Mapping[str, Any]) -> FakeTurn:
        if self.refusal is not None:
            raise self.refusal
        reader = object() if body.get("stream") else None
        turn = FakeTurn(f"turn-{len(self.begun)}", session_id, self.error, reader, self.record_error)
        self.begun.append(turn)
        self.meanwhile()
        return turn


@pytest.fixture
def turns() -> FakeTurns:
    return FakeTurns()


@pytest.fixture
def client(turns: FakeTurns) -> FlaskClient:
    services = SimpleNamespace(
        turns=turns, idempotency=IdempotencyKeys(FakeClock()), held_streams=HeldStreams()
    )
    tokens = Tokens([Known(name, name, frozenset({"sessions:w"})) for name in ("one", "two")])

    def find_handler(name: str) -> Callable[..., Any]:
        return submit_turn if name == "handlers.turns.submit_turn" else unused

    return build_app(services, read_document(), tokens, find_handler=find_handler).test_client()


def unused(*_: Any, **__: Any) -> None:
    raise AssertionError("another operation was called")


def post(
    client: FlaskClient, *, key: str | None = "k", token: str = "one", path: str = PATH, **body: Any
) -> Any:
    headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
    return client.post(path, headers=headers, json={"message": "hello"} | body)


def identity(answer: Any) -> tuple[Any, ...]:
    return answer.status_code, answer.data, sorted(answer.headers)


def test_held_turn_runs_once_and_is_answered_again(client: FlaskClient, turns: FakeTurns) -> None:
    first, second = post(client), post(client)
    assert first.status_code == 200
    assert identity(first) == identity(second)
    assert first.headers.to_wsgi_list() == second.headers.to_wsgi_list()
    assert len(turns.begun) == 1


def test_turn_without_a_key_runs_each_time(client: FlaskClient, turns: FakeTurns) -> None:
    post(client, key=None)
    post(client, key=None)
    assert len(turns.begun) == 2


def test_key_runs_apart_for_another_token_and_another_session(client: FlaskClient, turns: FakeTurns) -> None:
    post(client)
    post(client, token="two")
    post(client, path=PATH.replace("a/turn", "b/turn"))
    assert len(turns.begun) == 3


def test_key_with_another_body_is_a_conflict(client: FlaskClient, turns: FakeTurns) -> None:
    post(client)
    answer = post(client, message="other")
    assert (answer.status_code, answer.content_type) == (409, "application/problem+json")
    assert answer.json["type"].endswith("/idempotency")
    assert len(turns.begun) == 1


def test_key_is_a_conflict_while_its_turn_runs(client: FlaskClient, turns: FakeTurns) -> None:
    seen: list[Any] = []

    def send_again() -> None:
        turns.meanwhile = lambda: None
        seen.append(post(client))

    turns.meanwhile = send_again
    assert post(client).status_code == 200
    assert seen[0].status_code == 409
    assert len(turns.begun) == 1


@pytest.mark.parametrize("refusal", [InvalidBodyError("no such skill"), SessionNotFoundError(SESSION)])
def test_refusal_of_a_held_turn_is_answered_again(
    client: FlaskClient, turns: FakeTurns, refusal: MekaError
) -> None:
    turns.refusal = refusal
    first = post(client)
    turns.refusal = None
    second = post(client)
    assert first.status_code == refusal.status
    assert identity(first) == identity(second)
    assert second.content_type == "application/problem+json"
    assert turns.begun == []


@pytest.mark.parametrize(
    "refusal",
    [
        TurnInFlightError(SESSION),
        SessionLockedError(SESSION),
        ConcurrencyLimitError("too many", retry_after=1),
        StoreUnavailableError(),
        ValueError("a fault of ours"),
    ],
)
def test_refusal_that_may_pass_is_forgotten(
    client: FlaskClient, turns: FakeTurns, refusal: MekaError
) -> None:
    turns.refusal = refusal
    assert post(client).status_code >= 400
    turns.refusal = None
    assert post(client).status_code == 200


@pytest.mark.parametrize("error", [TurnCanceledError("canceled"), ProviderFailedError("down")])
def test_held_turn_that_was_canceled_or_failed_runs_again(
    client: FlaskClient, turns: FakeTurns, error: MekaError
) -> None:
    turns.error = error
    assert post(client).status_code == error.status
    turns.error = None
    assert post(client).status_code == 200
    assert len(turns.begun) == 2


def test_detached_turn_is_answered_its_record_again(client: FlaskClient, turns: FakeTurns) -> None:
    turns.error = TurnCanceledError("canceled")
    first, second = post(client, detach=True, stream=False), post(client, detach=True, stream=False)
    assert first.status_code == 202
    assert first.headers["Location"] == f"/v1/sessions/{SESSION}/turns/turn-0"
    assert identity(first) == identity(second)
    assert second.headers["Location"] == first.headers["Location"]
    assert len(turns.begun) == 1


def test_detached_stream_is_answered_the_record_again(client: FlaskClient, turns: FakeTurns) -> None:
    first = post(client, detach=True, stream=True)
    assert first.mimetype == "text/event-stream"
    assert b"turn.finished" in first.data
    second = post(client, detach=True, stream=True)
    assert (second.status_code, second.content_type) == (202, "application/json")
    assert json.loads(second.data) == {"turn_id": "turn-0", "status": "running"}
    assert second.headers["Location"].endswith("/turns/turn-0")
    assert len(turns.begun) == 1


def test_detached_turn_that_was_refused_is_forgotten(client: FlaskClient, turns: FakeTurns) -> None:
    turns.refusal = InvalidBodyError("no such skill")
    assert post(client, detach=True).status_code == 422
    turns.refusal = None
    assert post(client, detach=True).status_code == 202


def test_detached_stream_is_closed_when_its_record_cannot_be_read(
    client: FlaskClient, turns: FakeTurns
) -> None:
    turns.record_error = StoreUnavailableError()
    assert post(client, detach=True, stream=True).status_code == 503
    assert turns.begun[0].closed == 1


def test_held_stream_ignores_the_key(client: FlaskClient, turns: FakeTurns) -> None:
    for _ in range(2):
        assert post(client, stream=True).mimetype == "text/event-stream"
    assert len(turns.begun) == 2


@pytest.mark.parametrize("key", ["x" * 256, "schlüssel"])
def test_key_that_is_no_key_is_refused(client: FlaskClient, turns: FakeTurns, key: str) -> None:
    answer = post(client, key=key)
    assert (answer.status_code, turns.begun) == (422, [])
    assert answer.json["type"].endswith("/invalid-body")

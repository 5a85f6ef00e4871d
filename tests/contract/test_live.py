"""The live conversation: feeds, inbox, prompts, tasks and keys, answer by answer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest
import requests

from meka.base.errors import IdempotencyError, ShuttingDownError
from meka.schema.operations import OPERATIONS
from meka.store import tasks
from tests.contract.bench import NOWHERE, Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_every_operation import app_that_fails, called
from tests.loopback_provider import Reply
from tests.serving import Event, read_events, say, use

HANGS = Reply([{"type": "text", "text": "Let me think"}], hang=True)


@contextmanager
def feed(bench: Bench, path: str, token: str = "everything", **options: Any) -> Iterator[Iterator[Event]]:
    with bench.client_with(token).call("GET", path, stream=True, **options) as answer:
        assert answer.status_code == 200, answer.text
        yield read_events(answer)


def wait_for(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.01)


def post(bench: Bench, session_id: str, message: str = "hello", **body: Any) -> requests.Response:
    headers = {"Idempotency-Key": body.pop("key")} if "key" in body else {}
    path = f"/v1/sessions/{session_id}/inbox"
    return bench.client.call(
        "POST", path, json={"message": message, "class": "followup", **body}, headers=headers
    )


def busy(bench: Bench) -> str:
    """A session with a turn that waits for its provider."""
    bench.upstream.add(HANGS)
    session_id = bench.client.session()
    assert bench.client.turn(session_id, detach=True).status_code == 202
    return session_id


@drives(("stream_session", 200))
def test_session_feed_carries_whole_turns_across_turns(bench: Bench) -> None:
    session_id = bench.client.session()
    with feed(bench, f"/v1/sessions/{session_id}/stream") as events:
        bench.client.turn(session_id)
        bench.client.turn(session_id)
        names: list[str] = []
        seen: list[Event] = []
        while names.count("turn.finished") < 2:
            seen.append(next(events))
            names.append(seen[-1].name)
    bench.client.contract.check_events(seen, "session")
    assert names.count("message.appended") == 2


@drives(("stream_server", 200))
def test_server_feed_carries_what_changes_records(bench: Bench) -> None:
    with feed(bench, "/v1/stream") as events:
        session_id = bench.client.session()
        bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"title": "x"})
        bench.client.turn(session_id)
        bench.client.call("DELETE", f"/v1/sessions/{session_id}")
        mine = (event for event in events if event.data.get("session_id") == session_id)
        seen = list(islice(mine, 5))
    expected = ["session.created", "session.updated", "turn.started", "turn.finished", "session.deleted"]
    assert [event.name for event in seen] == expected
    for event in seen:
        bench.client.contract.check_events([event], "server")


@drives(("stream_session", 409, "session-not-loaded"), ("stream_session", 409, "session-locked"))
def test_session_feed_is_not_opened_where_it_may_not_load(bench: Bench) -> None:
    stored = bench.stored_session()
    path = f"/v1/sessions/{stored}/stream"
    assert slug_of(bench.client_with("without-sessions:w").call("GET", path)) == "session-not-loaded"
    lock = bench.locks.try_acquire(stored)
    assert lock is not None
    try:
        assert slug_of(bench.client.call("GET", path)) == "session-locked"
    finally:
        lock.release()


@drives(
    ("stream_session", 409, "subagent-not-running"),
    ("stream_session", 422, "session-not-drivable"),
    ("post_inbox", 422, "session-not-drivable"),
    ("answer_request", 422, "session-not-drivable"),
)
def test_sub_agents_session_is_read_and_not_driven(bench: Bench) -> None:
    child = bench.stored_session(parent_id=bench.stored_session())
    path = f"/v1/sessions/{child}"
    assert slug_of(bench.client.call("GET", f"{path}/stream")) == "subagent-not-running"
    assert slug_of(bench.client.call("GET", f"{path}/stream?attend=true")) == "session-not-drivable"
    assert slug_of(post(bench, child)) == "session-not-drivable"
    answer = bench.client.call("POST", f"{path}/responses/req_1", json={"outcome": "allow"})
    assert slug_of(answer) == "session-not-drivable"


@drives(("stream_server", 400, "invalid-body"))
def test_server_feed_refuses_a_position_given_twice(bench: Bench) -> None:
    answer = bench.client.call("GET", "/v1/stream?last_event_id=1&last_event_id=2")
    assert slug_of(answer) == "invalid-body"


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(name, marks=drives((name, 503, "shutting-down")))
        for name in ("stream_session", "stream_server")
    ],
)
def test_feeds_are_refused_while_the_server_shuts_down(operation: str) -> None:
    problem = called(app_that_fails(ShuttingDownError("the server is shutting down")), OPERATIONS[operation])
    assert problem["status"] == 503


@drives(("post_inbox", 202), ("list_inbox", 200), ("post_inbox", 409, "idempotency"))
def test_inbox_takes_items_and_keeps_their_keys(bench: Bench) -> None:
    session_id = busy(bench)
    first = post(bench, session_id, key="k", source="chat").json()
    assert (first["state"], first["replayed"]) == ("pending", False)
    assert post(bench, session_id, key="k").json() == {**first, "replayed": True}
    assert slug_of(post(bench, session_id, "other", key="k")) == "idempotency"
    listed = bench.client.call("GET", f"/v1/sessions/{session_id}/inbox").json()
    assert [item["id"] for item in listed["items"]] == [first["item_id"]]
    # Left behind, it would open a turn and use up what a later test scripts.
    bench.client.call("DELETE", f"/v1/sessions/{session_id}/inbox/{first['item_id']}")
    bench.client.call("POST", f"/v1/sessions/{session_id}/cancel")


@drives(
    ("delete_inbox_item", 204),
    ("delete_inbox_item", 404, "not-found"),
    ("delete_inbox_item", 409, "inbox-appended"),
)
def test_inbox_item_is_withdrawn_only_while_it_waits(bench: Bench) -> None:
    session_id = busy(bench)
    path = f"/v1/sessions/{session_id}/inbox"
    waiting = post(bench, session_id).json()["item_id"]
    assert bench.client.call("DELETE", f"{path}/{waiting}").status_code == 204
    assert slug_of(bench.client.call("DELETE", f"{path}/{waiting}")) == "not-found"
    bench.client.call("POST", f"/v1/sessions/{session_id}/cancel")
    hangs = Reply(say("late"), delay_ms=60_000)
    bench.upstream.add(hangs)
    other = bench.client.session()
    appended = post(bench, other).json()["item_id"]
    wait_for(lambda: _state(bench, other, appended) == "appended")
    assert slug_of(bench.client.call("DELETE", f"/v1/sessions/{other}/inbox/{appended}")) == "inbox-appended"
    bench.client.call("POST", f"/v1/sessions/{other}/cancel")


def _state(bench: Bench, session_id: str, item_id: str) -> str | None:
    items = bench.client.call("GET", f"/v1/sessions/{session_id}/inbox").json()["items"]
    return next((item["state"] for item in items if item["id"] == item_id), None)


@drives(("answer_request", 204), ("answer_request", 404, "request-not-found"))
def test_prompt_is_answered_once(bench: Bench) -> None:
    bench.upstream.add(use(("c1", "file_write", {"path": "x.txt", "content": "x"})), say("done"))
    session_id = bench.client.session(permission="read", approvals=True)
    with feed(bench, f"/v1/sessions/{session_id}/stream?attend=true") as events:
        bench.client.turn(session_id, detach=True)
        asked = next(event for event in events if event.name == "permission_required")
        path = f"/v1/sessions/{session_id}/responses/{asked.data['request_id']}"
        assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["approvals_pending"] == 1
        assert bench.client.call("POST", path, json={"outcome": "deny"}).status_code == 204
        answer = bench.client.call("POST", path, json={"outcome": "deny"})
        assert slug_of(answer) == "request-not-found"
        resolved = next(event for event in events if event.name == "permission_resolved")
        bench.client.contract.check_events([asked], "session")
        bench.client.contract.check_events([resolved], "session")
    assert resolved.data["outcome"] == "deny"


@drives(
    ("list_session_tasks", 200),
    ("list_tasks", 200),
    ("list_tasks", 400, "invalid-body"),
    ("list_tasks", 422, "invalid-body"),
    ("cancel_task", 204),
    ("cancel_task", 404, "not-found"),
)
def test_tasks_are_listed_and_canceled(bench: Bench) -> None:
    session_id = bench.stored_session()
    task_id = "0b9f3f9e-0000-4000-8000-000000000001"
    bench.store.write(lambda tx: tasks.start(tx, session_id, task_id, tool="shell_execute", label="sleep"))
    mine = f"/v1/sessions/{session_id}/tasks"
    assert [task["status"] for task in bench.client.call("GET", mine).json()["tasks"]] == ["running"]
    assert bench.client.call("DELETE", f"{mine}/{task_id}").status_code == 204
    assert bench.client.call("DELETE", f"{mine}/{task_id}").status_code == 204
    assert slug_of(bench.client.call("DELETE", f"{mine}/{NOWHERE}")) == "not-found"
    canceled = bench.client.call("GET", "/v1/tasks", params={"status": "canceled"}).json()["tasks"]
    assert task_id in [task["id"] for task in canceled]
    assert bench.client.call("GET", "/v1/tasks?status=odd").status_code == 422
    assert bench.client.call("GET", "/v1/tasks?status=running&status=failed").status_code in (400, 422)
    assert bench.client.call("GET", "/v1/tasks?other=%ff").status_code in (200, 400)


@drives(("submit_turn", 409, "idempotency"))
def test_key_of_a_turn_is_bound_to_its_body(bench: Bench) -> None:
    session_id = bench.client.session()
    path = f"/v1/sessions/{session_id}/turn"
    headers = {"Idempotency-Key": "key"}
    first = bench.client.call("POST", path, json={"message": "a"}, headers=headers)
    again = bench.client.call("POST", path, json={"message": "a"}, headers=headers)
    other = bench.client.call("POST", path, json={"message": "b"}, headers=headers)
    assert (first.status_code, again.content) == (200, first.content)
    assert slug_of(other) == "idempotency"


@drives(("submit_turn", 429, "idempotency"))
def test_keys_of_a_token_have_a_bound() -> None:
    problem = called(app_that_fails(IdempotencyError.at_capacity()), OPERATIONS["submit_turn"])
    assert problem["retry_after"] == 60

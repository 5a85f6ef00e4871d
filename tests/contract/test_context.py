"""Compaction on request and the window as clients read it, answer by answer."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from meka.base.errors import ShuttingDownError
from meka.schema.operations import OPERATIONS
from tests.contract.bench import Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_every_operation import app_that_fails, called
from tests.contract.test_live import feed
from tests.loopback_provider import Reply
from tests.serving import Event, say, use

HANGS = Reply([{"type": "text", "text": "Let me think"}], hang=True)
USAGE = {"type": "usage", "input_tokens": 1000, "output_tokens": 50}
SUMMARY = use(("cr_1", "context_replace", {"summary": "They said hello."}))


def compact(bench: Bench, session_id: str, **body: Any) -> requests.Response:
    return bench.client.call("POST", f"/v1/sessions/{session_id}/compact", json=body)


def context(bench: Bench, session_id: str) -> dict[str, Any]:
    answer = bench.client.call("GET", f"/v1/sessions/{session_id}/context")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def talked(bench: Bench, turns: int = 1) -> str:
    """A session with some turns behind it."""
    session_id = bench.client.session()
    for number in range(turns):
        bench.upstream.add([USAGE, *say(f"answer {number}")])
        assert bench.client.turn(session_id, f"question {number}").status_code == 200
    return session_id


def until(events: Any, *names: str) -> list[Event]:
    """The events up to the first of one of these names."""
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if event.name in names:
            return seen
    raise AssertionError(f"none of {names} came")


@drives(("compact_session", 200), ("list_messages", 200), ("get_context", 200))
def test_checkpoint_replaces_the_conversation_by_the_models_own_summary(bench: Bench) -> None:
    session_id = talked(bench, 3)
    with feed(bench, f"/v1/sessions/{session_id}/stream") as events:
        bench.upstream.add(SUMMARY)
        answer = compact(bench, session_id, instructions="Keep the greeting.", keep_recent=False)
        seen = [event for event in until(events, "context.compacted") if event.data.get("turn_id")]
        seen += until(events, "turn.finished")
    assert answer.json() == {
        "session_id": session_id,
        "source": "checkpoint",
        "memories_written": [],
        "kept_recent": False,
        "messages_before": 6,
        "messages_after": 1,
    }
    asked = bench.upstream.requests[-1].body["messages"][-1]["content"][-1]["text"]
    assert "Keep the greeting." in asked
    history = bench.client.call("GET", f"/v1/sessions/{session_id}/messages").json()
    (summary,) = history["messages"]
    marker = {
        "trigger": "manual",
        "source": "checkpoint",
        "memories_written": [],
        "kept_recent": False,
        "replaced_count": 6,
        "generation": 1,
    }
    assert summary["compaction"] == marker
    assert not {"turn_id", "turn_label"} & set(summary)
    assert "They said hello." in summary["content"][0]["text"]
    assert "> question 2" in summary["content"][0]["text"]
    assert history["revision"] == 1
    own = [event for event in seen if event.data["turn_id"] == seen[-1].data["turn_id"]]
    assert [event.name for event in own] == [
        "turn.started",
        "context.compacting",
        "tool_call.composing",
        "tool_call.executing",
        "tool_call.completed",
        "context.compacted",
        "turn.finished",
    ]
    bench.client.contract.check_events(own, "session")
    told = {key: value for key, value in own[-2].data.items() if key in marker}
    assert (own[0].data["source"], told) == ("compaction", marker)
    assert own[1].data["compaction_id"] == own[-2].data["compaction_id"]
    turns = bench.client.call("GET", f"/v1/sessions/{session_id}/turns").json()["turns"]
    assert len(turns) == 3
    state = context(bench, session_id)
    assert (state["generation"], state["message_count"], state["totals"]["turns"]) == (1, 1, 3)
    assert 0 < state["used"] < 100_000


@drives(("compact_session", 200))
def test_summarizer_takes_over_where_the_checkpoint_hands_nothing_over(bench: Bench) -> None:
    session_id = talked(bench, 3)
    bench.upstream.add(say("I would rather not."), say("A summary."))
    answer = compact(bench, session_id).json()
    assert (answer["source"], answer["kept_recent"]) == ("summarizer", True)
    request = bench.upstream.requests[-1].body
    assert "tools" not in request
    assert "question 0" in request["messages"][0]["content"][0]["text"]
    messages = bench.client.messages(session_id)
    assert messages[0]["compaction"]["replaced_count"] == 6
    assert [message["role"] for message in messages] == ["user", "user", "assistant"]
    assert [message.get("turn_label") for message in messages] == [None, "t_0001", "t_0001"]
    assert "They" not in messages[0]["content"][0]["text"]
    bench.upstream.add(say("on we go"))
    assert bench.client.turn(session_id, "next").status_code == 200
    sent = bench.upstream.requests[-1].body["messages"]
    assert "A summary." in str(sent[0]["content"])


@drives(("compact_session", 422, "invalid-body"))
def test_nothing_to_compact_is_refused(bench: Bench) -> None:
    session_id = bench.client.session()
    assert slug_of(compact(bench, session_id)) == "invalid-body"
    session_id = talked(bench)
    bench.upstream.add(SUMMARY)
    assert compact(bench, session_id, keep_recent=False).status_code == 200
    refused = compact(bench, session_id)
    assert "nothing to compact" in refused.json()["detail"]
    bad = compact(bench, session_id, keep_recent="yes")
    assert "`keep_recent`" in bad.json()["detail"]


@drives(("compact_session", 409, "session-locked"), ("compact_session", 422, "session-not-drivable"))
def test_compaction_needs_the_session_and_its_right_to_run(bench: Bench) -> None:
    stored = bench.stored_session()
    lock = bench.locks.try_acquire(stored)
    assert lock is not None
    try:
        assert slug_of(compact(bench, stored)) == "session-locked"
    finally:
        lock.release()
    child = bench.stored_session(parent_id=stored)
    assert slug_of(compact(bench, child)) == "session-not-drivable"


@drives(("compact_session", 409, "turn-in-flight"), ("submit_turn", 409, "turn-in-flight"))
def test_compaction_and_turn_keep_each_other_out(bench: Bench) -> None:
    session_id = talked(bench)
    bench.upstream.add(HANGS)
    assert bench.client.turn(session_id, detach=True).status_code == 202
    assert slug_of(compact(bench, session_id)) == "turn-in-flight"
    assert "message_count" not in context(bench, session_id)
    cancel(bench, session_id)

    def meanwhile() -> None:
        assert slug_of(bench.client.turn(session_id)) == "turn-in-flight"
        assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["turn_in_flight"] is True

    interrupted(bench, session_id, meanwhile)


@drives(("compact_session", 409, "turn-canceled"))
def test_canceled_compaction_leaves_the_conversation_as_it_was(bench: Bench) -> None:
    session_id = talked(bench)
    before = bench.client.messages(session_id)
    with feed(bench, f"/v1/sessions/{session_id}/stream") as events:
        interrupted(bench, session_id, lambda: None)
        seen = until(events, "turn.canceled")
    bench.client.contract.check_events(seen, "session")
    (failed,) = [event.data for event in seen if event.name == "context.compaction_failed"]
    assert (failed["interrupted"], failed["trigger"], "error" in failed) == (True, "manual", False)
    assert bench.client.messages(session_id) == before
    assert bench.client.call("GET", f"/v1/sessions/{session_id}/messages").json()["revision"] == 0


def interrupted(bench: Bench, session_id: str, meanwhile: Callable[[], None]) -> None:
    """Compact, do something while its provider hangs, and cancel."""
    count = len(bench.upstream.requests)
    bench.upstream.add(HANGS)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            requests.post,
            f"{bench.server.base_url}/v1/sessions/{session_id}/compact",
            headers={"Authorization": "Bearer everything"},
            timeout=60,
        )
        bench.upstream.wait_for_requests(count + 1)
        meanwhile()
        cancel(bench, session_id)
        answer = running.result(30)
    bench.client._note(answer, answer.content)
    assert (answer.status_code, slug_of(answer)) == (409, "turn-canceled")


def cancel(bench: Bench, session_id: str) -> None:
    bench.client.call("POST", f"/v1/sessions/{session_id}/cancel")
    for _ in range(500):
        if not bench.client.call("GET", f"/v1/sessions/{session_id}").json()["turn_in_flight"]:
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not end")


FAILURES = [
    ("provider", [{"type": "fail", "message": "no such model"}]),
    ("context-overflow", [{"type": "fail_context_overflow", "message": "too long"}]),
    ("provider-unavailable", Reply(status=503, headers={"Retry-After": "0"}, body={"error": "busy"})),
]


@pytest.mark.parametrize(
    ("slug", "failure"),
    [pytest.param(*each, id=each[0], marks=drives(("compact_session", 502, each[0]))) for each in FAILURES],
)
def test_failed_compaction_is_told_and_changes_nothing(bench: Bench, slug: str, failure: Any) -> None:
    session_id = talked(bench)
    before = bench.client.messages(session_id)
    # The checkpoint ends without a summary, and then the summarizer fails, with all its attempts.
    bench.upstream.add(say("no"), *[failure] * (4 if slug == "provider-unavailable" else 1))
    with feed(bench, f"/v1/sessions/{session_id}/stream") as events:
        answer = compact(bench, session_id)
        seen = until(events, "turn.failed")
    assert (answer.status_code, slug_of(answer)) == (502, slug)
    bench.client.contract.check_events(seen, "session")
    (failed,) = [event.data for event in seen if event.name == "context.compaction_failed"]
    assert (failed["interrupted"], failed["error"]["type"]) == (False, answer.json()["type"])
    assert bench.client.messages(session_id) == before


@drives(("compact_session", 503, "shutting-down"))
def test_compaction_is_refused_while_the_server_shuts_down() -> None:
    problem = called(app_that_fails(ShuttingDownError("down")), OPERATIONS["compact_session"])
    assert problem["status"] == 503


@drives(("get_context", 200))
def test_window_of_an_unloaded_session_is_read_from_the_store(bench: Bench) -> None:
    stored = bench.stored_session()
    nothing = {
        "turns": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    expected = {"window": 1_000_000, "compact_at_percent": 85, "generation": 0, "totals": nothing}
    assert context(bench, stored) == {"session_id": stored, **expected}
    assert slug_of(bench.client.call("GET", f"/v1/sessions/{stored}/tools")) == "session-not-loaded"


@drives(("get_context", 200))
def test_window_of_a_loaded_session_is_measured_once_a_turn_ran(bench: Bench) -> None:
    fresh = bench.client.session()
    assert "used" not in context(bench, fresh)
    assert context(bench, fresh)["message_count"] == 0
    session_id = talked(bench)
    state = context(bench, session_id)
    assert (state["used"], state["message_count"]) == (1050, 2)
    assert state["overhead"] > 0
    assert (state["totals"]["turns"], state["totals"]["input_tokens"]) == (1, 1000)

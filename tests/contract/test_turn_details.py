"""What a turn tells and leaves behind, field by field, and who may stop it."""

import base64
import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.contract.bench import Bench, running
from tests.contract.test_answers import png, stop
from tests.loopback_provider import Answer, Received, Reply
from tests.serving import Event, say, use

THINKS = [
    {"type": "thinking_delta", "text": "Hm."},
    {"type": "thinking_complete", "opaque": "sealed"},
    *say("Done."),
]


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A server that stops a held turn as soon as nobody listens."""
    with running(tmp_path_factory.mktemp("impatient"), 'stream_reattach_grace = "0s"') as started:
        yield started


def named(events: list[Event], name: str) -> list[Mapping[str, Any]]:
    """The payloads of the events of one name."""
    return [event.data for event in events if event.name == name]


# Content


@pytest.mark.parametrize("shown", [False, True])
def test_reasoning_is_shown_where_the_session_asked_for_it(bench: Bench, shown: bool) -> None:
    session_id = bench.client.session(capabilities={"supports_reasoning_stream": shown})
    bench.upstream.add(THINKS, THINKS)
    reply = bench.client.turn(session_id).json()["messages"][-1]["content"]
    kept = [{"type": "text", "text": "Done."}]
    assert reply == ([{"type": "thinking", "thinking": "Hm."}] if shown else []) + kept
    events = bench.client.events(session_id)
    assert bool(named(events, "thinking.delta")) is shown


def test_refused_call_is_noticed_where_approvals_are_on(bench: Bench) -> None:
    shows_none = {"supports_permission_prompts": False}
    session_id = bench.client.session(permission="read", approvals=True, capabilities=shows_none)
    calls = use(("tu_1", "file_write", {"path": "x.txt", "content": "x"}))
    bench.upstream.add(calls, say("ok"), calls, say("ok"))
    turn = bench.client.turn(session_id).json()
    assert [notice["level"] for notice in turn["notices"]] == ["warn"]
    assert "file_write" in turn["notices"][0]["text"]
    assert turn["messages"][2]["content"][0]["is_error"] is True
    events = bench.client.events(session_id)
    notices = [{key: each[key] for key in ("level", "text")} for each in named(events, "notice")]
    assert notices == turn["notices"]
    assert not (bench.root / "work" / "x.txt").exists()


def test_completed_call_shows_the_whole_change(bench: Bench, tmp_path: Path) -> None:
    session_id = bench.client.session(working_directory=str(tmp_path))
    bench.upstream.add(
        use(("tu_1", "file_write", {"path": "a.txt", "content": "one\n"})),
        use(("tu_2", "file_edit", {"path": "a.txt", "old_string": "one", "new_string": "two"})),
        use(("tu_3", "file_edit", {"path": "a.txt", "old_string": "absent", "new_string": "x"})),
        say("ok"),
    )
    events = bench.client.events(session_id)
    completed = named(events, "tool_call.completed")
    path = str(tmp_path / "a.txt")
    assert completed[0]["change"] == {"path": path, "new": "one\n"}
    assert completed[1]["change"] == {"path": path, "old": "one\n", "new": "two\n"}
    assert completed[2]["is_error"] is True
    assert "change" not in completed[2]
    executing = named(events, "tool_call.executing")
    assert executing[0]["input"] == {"path": "a.txt", "content": "one\n"}
    results = [block for each in bench.client.messages(session_id) for block in each["content"]]
    assert not any("change" in block for block in results)


def test_image_of_a_tool_has_its_hash_in_the_history_alone(bench: Bench, tmp_path: Path) -> None:
    raw = base64.b64decode(png())
    (tmp_path / "a.png").write_bytes(raw)
    session_id = bench.client.session(working_directory=str(tmp_path))
    bench.upstream.add(use(("tu_1", "file_read", {"path": "a.png"})), say("red"))
    events = bench.client.events(session_id)
    shown = named(events, "tool_call.completed")[0]["content"]
    assert {"type": "image", "media_type": "image/png"} in shown
    kept = bench.client.messages(session_id)[2]["content"][0]["content"]
    digest = hashlib.sha256(raw).hexdigest()
    assert {"type": "image", "media_type": "image/png", "hash": digest} in kept


def test_image_of_a_refused_turn_is_not_the_sessions(bench: Bench) -> None:
    session_id = bench.client.session()
    good, bad = {"media_type": "image/png", "data": png()}, {"media_type": "image/png", "data": "AAAA"}
    assert bench.client.turn(session_id, images=[good, bad]).status_code == 422
    digest = hashlib.sha256(base64.b64decode(png())).hexdigest()
    assert bench.client.turn(session_id, images=[{"hash": digest}]).status_code == 422


def test_text_that_cannot_be_stored_is_replaced(bench: Bench) -> None:
    session_id = bench.client.session()
    raw = b'{"message": "a\\u0000b\\ud800c", "stream": null, "images": null, "options": null}'
    answer = bench.client.call(
        "POST",
        f"/v1/sessions/{session_id}/turn",
        data=raw,
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert answer.status_code == 200
    assert bench.client.messages(session_id)[0]["content"][-1]["text"] == "a�b�c"
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["title"] == "a�b�c"


def test_labels_count_turns_over_the_whole_history(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.upstream.add(use(("tu_1", "file_find", {"pattern": "*"})), say("ok"), say("ok"))
    bench.client.turn(session_id)
    bench.client.turn(session_id)
    labels = [each["turn_label"] for each in bench.client.messages(session_id)]
    assert labels == ["t_0001"] * 4 + ["t_0002"] * 2
    page = bench.client.call("GET", f"/v1/sessions/{session_id}/messages", params={"offset": 5}).json()
    assert [each["turn_label"] for each in page["messages"]] == ["t_0002"]


def test_record_of_a_held_session_has_its_open_checklist(bench: Bench) -> None:
    session_id = bench.client.session()
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["checklist"] == []
    stored = bench.client.call("GET", f"/v1/sessions/{bench.stored_session()}").json()
    assert "checklist" not in stored


def test_permission_of_a_turn_is_what_its_opening_told(bench: Bench) -> None:
    session_id = bench.client.session()
    path = f"/v1/sessions/{session_id}"
    bench.client.turn(session_id)
    assert bench.client.call("PATCH", path, json={"permission": "read"}).json()["permission"] == "read"
    bench.client.turn(session_id)
    turns = bench.client.call("GET", f"{path}/turns").json()["turns"]
    assert [turn["permission"] for turn in turns] == ["read", "workspace"]


# Who stops a turn


def gated(answer: Answer) -> tuple[Any, threading.Event]:
    """A round that waits for its event."""
    gate = threading.Event()

    def give(_received: Received) -> Answer:
        assert gate.wait(30)
        return answer

    return give, gate


def ended_turn(bench: Bench, session_id: str) -> dict[str, Any]:
    """The session's last turn, once it has ended."""
    for _ in range(500):
        record = bench.client.call("GET", f"/v1/sessions/{session_id}").json()
        if not record["turn_in_flight"]:
            return dict(record["last_turn"])
        threading.Event().wait(0.02)
    raise AssertionError("the turn did not end")


def leave_turn(bench: Bench, **body: Any) -> tuple[str, int]:
    """Open a turn of two rounds and hang up during the first. Shape: the session, and requests so far."""
    session_id = bench.client.session()
    asked = len(bench.upstream.requests)
    first, gate = gated(use(("tu_1", "file_find", {"pattern": "*"})))
    bench.upstream.add(first)
    call = threading.Thread(target=_hang_up, args=(bench, session_id, body))
    call.start()
    bench.upstream.wait_for_requests(asked + 1)
    call.join(30)
    gate.set()
    return session_id, asked


def _hang_up(bench: Bench, session_id: str, body: dict[str, Any]) -> None:
    """Ask for a turn and leave at the answer's head, or a second later where there is none yet."""
    with suppress(requests.Timeout):
        requests.post(
            f"{bench.server.base_url}/v1/sessions/{session_id}/turn",
            json={"message": "go", **body},
            headers={"Authorization": "Bearer everything"},
            stream=True,
            timeout=1,
        ).close()


@pytest.mark.parametrize("stream", [False, True])
def test_held_turn_nobody_listens_to_stops_at_its_boundary(impatient: Bench, stream: bool) -> None:
    session_id, asked = leave_turn(impatient, stream=stream)
    assert ended_turn(impatient, session_id)["status"] == "canceled"
    assert len(impatient.upstream.requests) == asked + 1


@pytest.mark.parametrize("stream", [False, True])
def test_detached_turn_goes_on_without_its_request(impatient: Bench, stream: bool) -> None:
    session_id, asked = leave_turn(impatient, stream=stream, detach=True)
    assert ended_turn(impatient, session_id)["status"] == "succeeded"
    assert len(impatient.upstream.requests) == asked + 2


def test_canceled_stream_keeps_what_was_said(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.upstream.add(Reply([{"type": "text", "text": "Half"}], hang=True))
    events = []
    for event in bench.client.stream(session_id, options={"unanswered_message": "withdraw"}):
        events.append(event)
        if event.name == "assistant_text.delta":
            stop(bench, session_id)
    bench.client.contract.check_events(events, "turn")
    assert events[-1].name == "turn.canceled"
    assert events[-1].data["reason"] == "client"
    assert (events[-1].data["message_withdrawn"], events[-1].data["revision"]) == (False, 0)
    kept = [each["content"][-1]["text"] for each in bench.client.messages(session_id)]
    assert kept == ["go", "Half"]


def test_withdrawn_message_leaves_the_history_and_moves_its_revision(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.upstream.add([{"type": "fail_invalid_request", "message": "no"}])
    events = bench.client.events(session_id, options={"unanswered_message": "withdraw"})
    assert (events[-1].data["message_withdrawn"], events[-1].data["revision"]) == (True, 1)
    history = bench.client.call("GET", f"/v1/sessions/{session_id}/messages").json()
    assert (history["messages"], history["total"], history["revision"]) == ([], 0, 1)
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["last_turn"]["status"] == "failed"

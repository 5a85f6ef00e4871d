"""Rewind and fork: what they do, on what condition, and what they refuse."""

import threading
from typing import Any

import pytest
import requests

from meka.store import inbox, messages, sessions
from meka.store.inbox import InboxRow, ItemState
from tests.contract.bench import NOWHERE, Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_answers import HANGS, png, stop, write_locked
from tests.serving import read_events, say, use

KEPT, OFFERED, READ = (f"0000000{n}-0000-4000-8000-000000000000" for n in (1, 2, 3))


def talked(bench: Bench, count: int, **body: Any) -> str:
    """A session with so many turns."""
    session_id = bench.client.session(**body)
    for number in range(count):
        assert bench.client.turn(session_id, f"question {number}").status_code == 200
    return session_id


def rewind(bench: Bench, session_id: str, body: Any = None, tag: str | None = None) -> requests.Response:
    headers = {} if tag is None else {"If-Match": tag}
    return bench.client.call("POST", f"/v1/sessions/{session_id}/rewind", json=body, headers=headers)


def fork(bench: Bench, session_id: str, body: Any = None, tag: str | None = None) -> requests.Response:
    headers = {} if tag is None else {"If-Match": tag}
    return bench.client.call("POST", f"/v1/sessions/{session_id}/fork", json=body, headers=headers)


def history(bench: Bench, session_id: str) -> requests.Response:
    return bench.client.call("GET", f"/v1/sessions/{session_id}/messages")


def words(bench: Bench, session_id: str) -> list[str]:
    """The last text of each message."""
    return [
        [block["text"] for block in message["content"] if block["type"] == "text"][-1]
        for message in bench.client.messages(session_id)
    ]


# Rewind


@drives(("rewind_session", 200))
@pytest.mark.parametrize(("body", "turns"), [(None, 1), ({}, 1), ({"turns": None}, 1), ({"turns": 2}, 2)])
def test_rewind_drops_the_last_turns(bench: Bench, body: Any, turns: int) -> None:
    session_id = talked(bench, 3)
    before = bench.client.messages(session_id)
    answer = rewind(bench, session_id, body)
    assert answer.json() == {
        "session_id": session_id,
        "turns_removed": turns,
        "messages_before": 6,
        "messages_after": 6 - 2 * turns,
    }
    now = history(bench, session_id)
    assert now.headers["ETag"] == answer.headers["ETag"] == f'"1-{6 - 2 * turns}"'
    assert now.json()["messages"] == before[: 6 - 2 * turns]
    assert now.json()["revision"] == 1
    bench.client.turn(session_id, "again")
    assert words(bench, session_id)[-2:] == ["again", "ok"]
    assert bench.client.messages(session_id)[-1]["turn_label"] == f"t_{4 - turns:04d}"


@drives(("rewind_session", 422, "invalid-body"))
@pytest.mark.parametrize("turns", [0, -1, 3, 2**70, "1", 1.5, True])
def test_rewind_of_more_than_there_is_drops_nothing(bench: Bench, turns: Any) -> None:
    session_id = talked(bench, 2)
    before = history(bench, session_id)
    answer = rewind(bench, session_id, {"turns": turns})
    assert answer.status_code == 422
    after = history(bench, session_id)
    assert (after.json(), after.headers["ETag"]) == (before.json(), before.headers["ETag"])


def test_rewind_of_everything_leaves_a_session_as_new(bench: Bench) -> None:
    session_id = talked(bench, 2)
    path = f"/v1/sessions/{session_id}"
    assert rewind(bench, session_id, {"turns": 2}).json()["messages_after"] == 0
    record = bench.client.call("GET", path).json()
    assert record["title"] == ""
    assert rewind(bench, session_id).status_code == 422
    bench.client.turn(session_id, "a new start")
    assert bench.client.call("GET", path).json()["title"] == "a new start"
    # Every turn that began stays a row.
    assert len(bench.client.call("GET", f"{path}/turns").json()["turns"]) == 3


def test_rewind_leaves_updated_at_and_is_told_on_the_feed(bench: Bench) -> None:
    session_id = talked(bench, 2)
    path = f"/v1/sessions/{session_id}"
    stamp = bench.client.call("GET", path).json()["updated_at"]
    etag = rewind(bench, session_id).headers["ETag"]
    assert bench.client.call("GET", path).json()["updated_at"] == stamp
    with bench.client.call("GET", f"{path}/stream", stream=True) as response:
        told = next(event for event in events_of(response) if event[0] == "conversation.rewound")
    assert told[1] == {"session_id": session_id, "revision": 1, "total": 2, "turns_removed": 1}
    assert etag == '"1-2"'


def events_of(response: requests.Response) -> Any:
    for event in read_events(response):
        yield event.name, dict(event.data)


@drives(("rewind_session", 412, "precondition-failed"), ("rewind_session", 200))
def test_rewind_holds_to_its_condition(bench: Bench) -> None:
    session_id = talked(bench, 3)
    tag = history(bench, session_id).headers["ETag"]
    bench.client.turn(session_id, "meanwhile")
    refused = rewind(bench, session_id, tag=tag)
    assert (refused.status_code, slug_of(refused)) == (412, "precondition-failed")
    problem = refused.json()
    assert (problem["session_id"], problem["revision"], problem["total"]) == (session_id, 0, 8)
    assert rewind(bench, session_id, tag=f"W/{history(bench, session_id).headers['ETag']}").status_code == 412
    assert len(words(bench, session_id)) == 8
    again = rewind(bench, session_id, tag=f'"x", "{problem["revision"]}-{problem["total"]}"')
    assert again.status_code == 200
    assert rewind(bench, session_id, tag=again.headers["ETag"]).status_code == 200
    assert rewind(bench, session_id, tag="*").status_code == 200


@drives(("rewind_session", 400, "invalid-body"), ("fork_session", 400, "invalid-body"))
@pytest.mark.parametrize("tag", ["", "0-2", '"0-2', '"0-2" "1-2"', "*, *"])
def test_condition_that_is_no_tag_is_refused(bench: Bench, tag: str) -> None:
    session_id = talked(bench, 1)
    for answer in (rewind(bench, session_id, tag=tag), fork(bench, session_id, tag=tag)):
        assert answer.status_code == 400
    assert len(words(bench, session_id)) == 2


@drives(("rewind_session", 409, "turn-in-flight"), ("fork_session", 409, "turn-in-flight"))
def test_session_with_a_turn_in_flight_is_neither_rewound_nor_copied(bench: Bench) -> None:
    session_id = talked(bench, 1)
    bench.upstream.add(HANGS)
    assert bench.client.turn(session_id, detach=True).status_code == 202
    for answer in (rewind(bench, session_id), fork(bench, session_id)):
        assert (answer.status_code, slug_of(answer)) == (409, "turn-in-flight")
    stop(bench, session_id)


@drives(("rewind_session", 409, "session-locked"), ("fork_session", 409, "session-locked"))
def test_session_of_another_process_is_neither_rewound_nor_copied(bench: Bench) -> None:
    session_id = bench.stored_session()
    lock = bench.locks.try_acquire(session_id)
    assert lock is not None
    for answer in (rewind(bench, session_id), fork(bench, session_id)):
        assert (answer.status_code, slug_of(answer)) == (409, "session-locked")
    lock.release()


@drives(("rewind_session", 503, "store-unavailable"), ("fork_session", 503, "store-unavailable"))
def test_edit_of_a_busy_store_changes_nothing(bench: Bench) -> None:
    session_id = talked(bench, 1)
    with write_locked(bench.store.path):
        for answer in (rewind(bench, session_id), fork(bench, session_id)):
            assert (answer.status_code, slug_of(answer)) == (503, "store-unavailable")
    assert len(words(bench, session_id)) == 2
    assert history(bench, session_id).json()["revision"] == 0
    assert rewind(bench, session_id).status_code == 200


def stored_turn(bench: Bench, session_id: str, number: int) -> int:
    """A turn of a session that is not loaded; the seq of its opening."""

    def unit(tx: Any) -> int:
        turn_id = f"{number:08d}-0000-4000-8000-000000000000"
        rows = messages.append(
            tx,
            session_id,
            messages.message("user", [{"type": "text", "text": f"q{number}"}], turn_id=turn_id),
            messages.message("assistant", [{"type": "text", "text": f"a{number}"}], turn_id=turn_id),
        )
        return rows[0].seq

    return bench.store.write(unit)


@drives(("rewind_session", 200))
def test_sub_agents_session_is_rewound_without_being_loaded(bench: Bench) -> None:
    child = bench.stored_session(parent_id=bench.stored_session())
    for number in (1, 2):
        stored_turn(bench, child, number)
    assert rewind(bench, child).json()["messages_after"] == 2
    assert words(bench, child) == ["q1", "a1"]
    assert history(bench, child).headers["ETag"] == '"1-2"'
    assert bench.client.call("GET", f"/v1/sessions/{child}/tools").status_code == 409
    lock = bench.locks.try_acquire(child)
    assert lock is not None
    lock.release()


MARKER = {
    "trigger": "manual",
    "source": "summarizer",
    "memories_written": [],
    "kept_recent": False,
    "replaced_count": 4,
    "generation": 1,
}


def test_rewind_stops_at_a_compaction(bench: Bench) -> None:
    session_id = bench.stored_session()
    for number in (1, 2):
        stored_turn(bench, session_id, number)

    def compact(tx: Any) -> None:
        summary = messages.message("user", [{"type": "text", "text": "so far"}], meta={"compaction": MARKER})
        seq = messages.append(tx, session_id, summary)[0].seq
        messages.append(tx, session_id, messages.boundary([seq]))
        sessions.bump_revision(tx, session_id)

    bench.store.write(compact)
    assert rewind(bench, session_id).status_code == 422
    stored_turn(bench, session_id, 3)
    assert rewind(bench, session_id, {"turns": 2}).status_code == 422
    labels = [message.get("turn_label") for message in bench.client.messages(session_id)]
    assert labels == [None, "t_0001", "t_0001"]
    assert rewind(bench, session_id).status_code == 200
    assert words(bench, session_id) == ["so far"]


def test_item_whose_text_was_taken_out_unread_is_offered_again(bench: Bench) -> None:
    session_id = bench.stored_session()
    first, second = stored_turn(bench, session_id, 1), stored_turn(bench, session_id, 2)
    rows = {
        KEPT: (first, ItemState.APPENDED),
        OFFERED: (second, ItemState.APPENDED),
        READ: (second, ItemState.DELIVERED),
    }

    def add(tx: Any) -> None:
        for name, (seq, state) in rows.items():
            item = InboxRow(name, session_id, "followup", name, state, tx.now(), tx.now(), appended_seq=seq)
            inbox.add(tx, item)

    bench.store.write(add)
    bench.upstream.add(say("read it"))
    assert rewind(bench, session_id).status_code == 200
    wait_for(lambda: state_of(bench, session_id, OFFERED) is ItemState.DELIVERED)
    # The next turn of any kind delivers what is in the conversation still.
    assert state_of(bench, session_id, KEPT) is ItemState.DELIVERED
    blocks = [block for message in bench.client.messages(session_id) for block in message["content"]]
    assert [block["body"] for block in blocks if block["type"] == "inbox"] == [OFFERED]


def state_of(bench: Bench, session_id: str, item_id: str) -> ItemState:
    item = bench.store.read(lambda tx: inbox.get(tx, session_id, item_id))
    assert item is not None
    return item.state


def wait_for(condition: Any) -> None:
    for _ in range(500):
        if condition():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not come to pass")


def test_checklist_follows_a_rewind(bench: Bench) -> None:
    session_id = talked(bench, 1)
    add = use(("tu_1", "checklist_add", {"items": [{"text": "write the tests"}]}))
    bench.upstream.add(add, *[say("no")] * 4)
    bench.client.turn(session_id)
    path = f"/v1/sessions/{session_id}"
    assert len(bench.client.call("GET", path).json()["checklist"]) == 1
    copy = fork(bench, session_id).json()
    assert [item["text"] for item in copy["checklist"]] == ["write the tests"]
    rewind(bench, session_id)
    assert bench.client.call("GET", path).json()["checklist"] == []
    with bench.client.call("GET", f"{path}/stream", stream=True) as response:
        told = [data for name, data in take_until(response, "conversation.rewound", 1)]
    assert told[-1]["items"] == []
    assert "turn_id" not in told[-1]


def take_until(response: requests.Response, name: str, more: int) -> list[Any]:
    """The events of a feed up to so many past one of that name."""
    taken, left = [], None
    for event in events_of(response):
        taken.append(event)
        left = more if event[0] == name else left if left is None else left - 1
        if left == 0:
            return taken
    raise AssertionError("the feed ended")


# Fork


@drives(("fork_session", 201))
def test_fork_is_the_same_conversation_under_an_id_of_its_own(bench: Bench, tmp_path: Any) -> None:
    session_id = bench.client.session(permission="read", profile="main", approvals=True)
    path = f"/v1/sessions/{session_id}"
    bench.client.turn(session_id, "look", images=[{"media_type": "image/png", "data": png()}])
    bench.client.turn(session_id, "and then")
    rewind(bench, session_id)
    bench.client.call("PATCH", path, json={"title": "Kept", "pinned": True})
    source = bench.client.call("GET", path).json()
    answer = fork(bench, session_id, {"working_directory": str(tmp_path)})
    copy = answer.json()
    assert answer.headers["Location"] == f"/v1/sessions/{copy['id']}"
    assert copy["id"] != session_id
    assert copy["working_directory"] == str(tmp_path.resolve())
    own = {"id", "created_at", "updated_at", "working_directory", "pinned_at", "inbox_pending"}
    assert {k: v for k, v in copy.items() if k not in own} == {
        k: v for k, v in source.items() if k not in own
    }
    assert "pinned_at" not in copy
    assert "parent_id" not in copy
    assert copy["created_at"] > source["created_at"]
    theirs, ours = history(bench, session_id), history(bench, copy["id"])
    assert ours.json() | {"session_id": session_id} == theirs.json()
    assert ours.headers["ETag"] == theirs.headers["ETag"]
    assert turns_of(bench, copy["id"]) == turns_of(bench, session_id)
    # Each goes on by itself, and the copy may name the images that its history holds.
    digest = next(b["hash"] for b in ours.json()["messages"][0]["content"] if b["type"] == "image")
    assert bench.client.turn(copy["id"], "again", images=[{"hash": digest}]).status_code == 200
    assert len(words(bench, session_id)) == 2
    bench.client.call("DELETE", path)
    assert len(words(bench, copy["id"])) == 4


def turns_of(bench: Bench, session_id: str) -> Any:
    return bench.client.call("GET", f"/v1/sessions/{session_id}/turns").json()["turns"]


@drives(("fork_session", 201))
def test_stored_session_is_forked_without_being_loaded(bench: Bench) -> None:
    session_id = bench.stored_session()
    stored_turn(bench, session_id, 1)
    copy = fork(bench, session_id, {}).json()
    assert words(bench, copy["id"]) == ["q1", "a1"]
    assert (copy["turn_in_flight"], copy["approvals_pending"]) == (False, 0)
    assert bench.client.call("GET", f"/v1/sessions/{session_id}/tools").status_code == 409
    listed = bench.client.call("GET", "/v1/sessions", params={"limit": 1, "pinned": "false"})
    assert [record["id"] for record in listed.json()["sessions"]] == [copy["id"]]


@drives(("fork_session", 422, "session-not-drivable"), ("fork_session", 422, "invalid-body"))
def test_fork_refuses_sub_agents_and_bad_directories(bench: Bench) -> None:
    child = bench.stored_session(parent_id=bench.stored_session())
    refused = fork(bench, child)
    assert (refused.status_code, slug_of(refused)) == (422, "session-not-drivable")
    session_id = talked(bench, 1)
    for directory in ("relative", "/nowhere/at/all", "/etc/passwd", "/tmp\0", 7):
        answer = fork(bench, session_id, {"working_directory": directory})
        assert (answer.status_code, slug_of(answer)) == (422, "invalid-body")


@drives(("fork_session", 412, "precondition-failed"))
def test_branch_from_a_point_is_a_fork_on_condition_and_a_rewind(bench: Bench) -> None:
    session_id = talked(bench, 3)
    tag = history(bench, session_id).headers["ETag"]
    copy = fork(bench, session_id, tag=tag).json()["id"]
    assert rewind(bench, copy, {"turns": 2}).status_code == 200
    assert words(bench, copy) == ["question 0", "ok"]
    assert len(words(bench, session_id)) == 6
    rewind(bench, session_id)
    refused = fork(bench, session_id, tag=tag)
    assert (refused.status_code, slug_of(refused)) == (412, "precondition-failed")
    assert (refused.json()["revision"], refused.json()["total"]) == (1, 4)


def test_deleted_sessions_have_no_history(bench: Bench) -> None:
    for answer in (rewind(bench, NOWHERE, {}), fork(bench, NOWHERE, {})):
        assert answer.status_code == 404

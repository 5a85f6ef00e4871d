"""What each operation answers by itself: its success, its refusals, its conflicts."""

import base64
import hashlib
import io
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import requests
from PIL import Image

from meka.schema.operations import SCOPES
from tests.contract.bench import NOWHERE, Bench, CheckedClient, slug_of
from tests.contract.checking import drives
from tests.loopback_provider import Reply
from tests.serving import say, use

HANGS = Reply([{"type": "text", "text": "Let me think"}], hang=True)
USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 3,
    "cache_read_input_tokens": 7,
}


def png() -> str:
    raw = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(raw, "PNG")
    return base64.b64encode(raw.getvalue()).decode()


# Health and discovery


@drives(("live", 200), ("ready", 200), ("get_openapi", 404, "not-found"))
def test_health_and_document_need_no_token(bench: Bench) -> None:
    anyone = bench.client_with(None)
    assert anyone.call("GET", "/v1/health/live").json() == {"status": "ok"}
    ready = anyone.call("GET", "/v1/health/ready").json()
    checks = {"session_db": True, "profile_configured": True, "mcp_servers_healthy": True}
    assert ready == {"status": "ok", **checks}
    assert anyone.call("GET", "/v1/openapi.json").status_code == 404


@drives(("get_info", 200))
def test_info_tells_levels_and_the_callers_scopes(bench: Bench) -> None:
    info = bench.client.call("GET", "/v1/info").json()
    assert info["default_permission"] == "workspace"
    assert info["enabled_permissions"] == ["read", "workspace", "unrestricted"]
    assert info["scopes"] == sorted(SCOPES)


@drives(("list_profiles", 200))
def test_profiles_are_listed_in_order(bench: Bench) -> None:
    profiles = bench.client.call("GET", "/v1/profiles").json()["profiles"]
    assert [profile["name"] for profile in profiles] == ["main", "blind", "tiny", "keyless"]
    assert profiles[0] == {
        "name": "main",
        "account": "upstream",
        "backend": "anthropic-messages",
        "model": "claude-test",
        "vision": True,
        "active": True,
    }
    assert (profiles[1]["vision"], profiles[1]["active"]) == (False, False)


@drives(("list_tools", 200), ("list_tools", 409, "session-not-loaded"))
def test_tools_belong_to_a_loaded_session(bench: Bench) -> None:
    tools = bench.client.call("GET", f"/v1/sessions/{bench.client.session()}/tools").json()["tools"]
    assert {"file_read", "shell_execute"} <= {tool["name"] for tool in tools}
    stored = bench.stored_session()
    for method in ("GET", "HEAD"):
        assert bench.client.call(method, f"/v1/sessions/{stored}/tools").status_code == 409


# Sessions


@drives(("create_session", 201), ("get_session", 200))
def test_session_is_created_with_what_was_asked(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    asked = {
        "working_directory": str(tmp_path / "link" / ".." / tmp_path.name),
        "permission": "read",
        "approvals": True,
        "profile": "blind",
        "project": "",
        "capabilities": {"supports_reasoning_stream": True, "supports_permission_prompts": None},
    }
    answer = bench.client.call("POST", "/v1/sessions", json=asked)
    record = answer.json()
    assert answer.headers["Location"] == f"/v1/sessions/{record['id']}"
    assert UUID(record["id"])
    assert record["created_at"] == record["updated_at"]
    assert record["created_at"].endswith("Z")
    stated = {key: record[key] for key in ("permission", "approvals", "profile", "project", "title")}
    assert stated == {
        "permission": "read", "approvals": True, "profile": "blind", "project": "", "title": "",
    }  # fmt: skip
    assert record["working_directory"] == str(tmp_path.resolve())
    assert record["capabilities"] == {
        "supports_reasoning_stream": True,
        "supports_permission_prompts": True,
        "answers_prompts_on_return": False,
        "supports_elicitation": False,
    }
    assert record["turn_in_flight"] is False
    assert (record["approvals_pending"], record["inbox_pending"]) == (0, 0)
    assert "last_turn" not in record
    got = bench.client.call("GET", f"/v1/sessions/{record['id']}").json()
    assert got == record


@drives(("create_session", 201))
def test_session_is_created_with_defaults(bench: Bench) -> None:
    record = bench.client.call("POST", "/v1/sessions", json={"profile": None, "capabilities": None}).json()
    assert record["working_directory"] == str((bench.root / "work").resolve())
    assert (record["permission"], record["approvals"], record["profile"]) == ("workspace", False, "main")


REFUSED_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"profile": "x"}, "no profile named 'x' (configured: main, blind, tiny, keyless)"),
    ({"project": "x"}, "no project named 'x'"),
    ({"permission": "none"}, "`permission`"),
    ({"permission": "root"}, "`permission`"),
    ({"approvals": "yes"}, "`approvals`"),
    ({"working_directory": "relative"}, "`working_directory`"),
    ({"working_directory": "/nowhere/at/all"}, "`working_directory`"),
    ({"working_directory": "/etc/passwd"}, "`working_directory`"),
    ({"working_directory": "/tmp\0"}, "`working_directory`"),
    ({"colour": "red"}, "`colour`"),
]


@drives(("create_session", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("body", "named"),
    [*REFUSED_SETTINGS, ({"capabilities": {"x": True}}, "`capabilities.x`"), ({"title": "x"}, "`title`")],
)
def test_create_refuses_and_names_what(bench: Bench, body: dict[str, Any], named: str) -> None:
    answer = bench.client.call("POST", "/v1/sessions", json=body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]


@drives(("patch_session", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("body", "named"),
    [*REFUSED_SETTINGS, ({"title": "x" * 201}, "`title`"), ({"capabilities": {}}, "`capabilities`")],
)
def test_patch_refuses_whole_and_names_what(bench: Bench, body: dict[str, Any], named: str) -> None:
    session_id = bench.client.session()
    before = bench.client.call("GET", f"/v1/sessions/{session_id}").json()
    answer = bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"pinned": True} | body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json() == before


@drives(("patch_session", 200))
def test_patch_moves_updated_at_for_what_a_session_runs_as_alone(bench: Bench, tmp_path: Path) -> None:
    path = f"/v1/sessions/{bench.client.session()}"
    record = bench.client.call("GET", path).json()
    for body, moves in [
        ({"title": "  Two \n words "}, False),
        ({"pinned": True}, False),
        ({"pinned": False}, False),
        ({"permission": "read"}, True),
        ({"permission": "read"}, False),
        ({"approvals": True}, True),
        ({"working_directory": str(tmp_path)}, True),
        ({"profile": "blind"}, True),
        ({"profile": "blind", "project": ""}, False),
        ({}, False),
        ({"permission": None}, False),
    ]:
        changed = bench.client.call("PATCH", path, json=body).json()
        assert (changed["updated_at"] > record["updated_at"]) is moves, body
        record = changed
    assert record["title"] == "Two words"
    assert (record["permission"], record["approvals"], record["profile"]) == ("read", True, "blind")
    assert record["working_directory"] == str(tmp_path.resolve())
    assert "pinned_at" not in record


@drives(("patch_session", 200), ("submit_turn", 200))
def test_title_is_the_first_words_until_one_is_set(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.client.turn(session_id, "  first \n words " + "x" * 300)
    bench.client.turn(session_id, "other words")
    path = f"/v1/sessions/{session_id}"
    first = ("first words " + "x" * 300)[:200]
    assert bench.client.call("GET", path).json()["title"] == first
    assert bench.client.call("PATCH", path, json={"title": "mine"}).json()["title"] == "mine"
    assert bench.client.call("PATCH", path, json={"title": " "}).json()["title"] == first


@drives(("patch_session", 200), ("get_session", 200))
def test_patch_of_the_row_alone_does_not_load_the_session(bench: Bench) -> None:
    session_id = bench.stored_session(profile="gone")
    path = f"/v1/sessions/{session_id}"
    for body in ({"profile": "main"}, {"project": ""}, {"title": "x", "pinned": True}):
        assert bench.client.call("PATCH", path, json=body).status_code == 200
        assert bench.client.call("GET", f"{path}/tools").status_code == 409
    record = bench.client.call("GET", path).json()
    assert (record["profile"], record["title"]) == ("main", "x")
    assert "approvals_pending" not in record


@drives(
    ("patch_session", 409, "session-locked"),
    ("delete_session", 409, "session-locked"),
    ("submit_turn", 409, "session-locked"),
)
def test_session_of_another_process_is_locked(bench: Bench) -> None:
    session_id = bench.stored_session()
    path = f"/v1/sessions/{session_id}"
    lock = bench.locks.try_acquire(session_id)
    assert lock is not None
    for method, place, body in [
        ("PATCH", path, {"profile": "blind"}),
        ("PATCH", path, {"permission": "read"}),
        ("DELETE", path, None),
        ("POST", f"{path}/turn", {"message": "go"}),
    ]:
        answer = bench.client.call(method, place, json=body)
        assert (answer.status_code, slug_of(answer)) == (409, "session-locked"), (method, body)
        assert answer.json()["session_id"] == session_id
    assert bench.client.call("PATCH", path, json={"title": "t", "pinned": True}).status_code == 200
    lock.release()
    assert bench.client.call("PATCH", path, json={"profile": "blind"}).status_code == 200


@drives(("patch_session", 422, "session-not-drivable"), ("submit_turn", 422, "session-not-drivable"))
def test_sub_agent_is_driven_by_its_parent_alone(bench: Bench) -> None:
    parent = bench.stored_session()
    child = bench.stored_session(parent_id=parent)
    path = f"/v1/sessions/{child}"
    for answer in (
        bench.client.call("PATCH", path, json={"title": "x"}),
        bench.client.turn(child),
    ):
        assert (answer.status_code, slug_of(answer)) == (422, "session-not-drivable")
        assert parent in answer.json()["detail"]
    assert bench.client.call("GET", path).json()["parent_id"] == parent


@drives(("delete_session", 204))
def test_delete_takes_sub_agents_along_and_may_be_repeated(bench: Bench) -> None:
    parent = bench.stored_session()
    child = bench.stored_session(parent_id=parent)
    loaded = bench.client.session()
    for session_id in (parent, parent, loaded, NOWHERE):
        answer = bench.client.call("DELETE", f"/v1/sessions/{session_id}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert "Content-Type" not in answer.headers
    for session_id in (parent, child, loaded):
        assert bench.client.call("GET", f"/v1/sessions/{session_id}").status_code == 404
        assert list((bench.root / "data" / "locks").glob(f"{session_id}*")) == []


@drives(("list_sessions", 200))
def test_sessions_are_listed_a_page_at_a_time(bench: Bench, tmp_path: Path) -> None:
    directory = str(tmp_path)
    made = [bench.client.session(working_directory=directory) for _ in range(5)]
    bench.client.call("PATCH", f"/v1/sessions/{made[1]}", json={"pinned": True})
    bench.client.call("PATCH", f"/v1/sessions/{made[0]}", json={"pinned": True})
    expected = [made[0], made[1], made[4], made[3], made[2]]
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2, "working_directory": f"{directory}/."}
    while True:
        page = bench.client.call("GET", "/v1/sessions", params=query).json()
        assert len(page["sessions"]) <= 2
        found += [record["id"] for record in page["sessions"]]
        if "next_cursor" not in page:
            break
        query["cursor"] = page["next_cursor"]
    assert found == expected


@drives(("list_sessions", 200))
def test_filters_compose(bench: Bench, tmp_path: Path) -> None:
    where = {"working_directory": str(tmp_path)}
    parent = bench.client.session(**where, profile="blind")
    other = bench.client.session(**where)
    child = bench.stored_session(parent_id=parent, working_directory=str(tmp_path.resolve()))
    bench.client.call("PATCH", f"/v1/sessions/{other}", json={"pinned": True})
    stamp = bench.client.call("GET", f"/v1/sessions/{parent}").json()["updated_at"]
    for query, expected in [
        ({}, {parent, other}),
        ({"include_children": "true"}, {parent, other, child}),
        ({"profile": "blind"}, {parent}),
        ({"profile": "blind", "pinned": "true"}, set()),
        ({"pinned": "true"}, {other}),
        ({"pinned": "false"}, {parent}),
        ({"parent": parent}, {child}),
        ({"parent": parent.upper()}, {child}),
        ({"parent": NOWHERE}, set()),
        ({"project": ""}, {parent, other}),
        ({"project": "x"}, set()),
        ({"updated_since": stamp}, {other}),
        ({"limit": "0"}, {other}),
        ({"limit": "100000"}, {parent, other}),
    ]:
        page = bench.client.call("GET", "/v1/sessions", params=where | query).json()
        assert {record["id"] for record in page["sessions"]} == expected, query


@drives(("list_sessions", 400, "invalid-body"))
@pytest.mark.parametrize(
    "query",
    ["limit=x", "limit=-1", "limit=1&limit=2", "pinned=maybe", "include_children=1", "parent=x",
     "updated_since=yesterday", "updated_since=2026-13-01T00:00:00Z", "limit="],
)  # fmt: skip
def test_listing_refuses_a_bad_query(bench: Bench, query: str) -> None:
    answer = bench.client.call("GET", f"/v1/sessions?{query}")
    assert answer.status_code == 400
    assert f"`{query.partition('=')[0]}`" in answer.json()["detail"]


@drives(("list_sessions", 422, "invalid-body"))
@pytest.mark.parametrize("cursor", ["x", "", "AAAA", "%00", "W10"])
def test_listing_refuses_a_cursor_it_never_issued(bench: Bench, cursor: str) -> None:
    assert bench.client.call("GET", f"/v1/sessions?cursor={cursor}").status_code == 422


# Turns


@drives(("submit_turn", 200), ("list_messages", 200), ("get_turn", 200), ("list_turns", 200))
def test_held_turn_answers_what_it_added(bench: Bench) -> None:
    session_id = bench.client.session()
    (bench.root / "work" / "hello.txt").write_text("hello there")
    bench.upstream.add(
        [{"type": "text", "text": "Let me look."}, *use(("tu_1", "file_read", {"path": "hello.txt"}))],
        [{"type": "usage", **USAGE}, *say("It says hello.")],
    )
    turn = bench.client.turn(session_id, "What is in it?").json()
    assert turn["session_id"] == session_id
    assert turn["stop_reason"] == "end_turn"
    assert turn["notices"] == []
    spent = USAGE | {"output_tokens": 21}  # the first round's message opens with one
    assert turn["usage"] == spent
    shapes = [(each["role"], [block["type"] for block in each["content"]]) for each in turn["messages"]]
    assert shapes == [
        ("user", ["turn_context", "text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]
    assert turn["messages"][0]["content"][1]["text"] == "What is in it?"
    result = turn["messages"][2]["content"][0]
    assert (result["tool_use_id"], result["is_error"]) == ("tu_1", False)
    assert "hello there" in result["content"][0]["text"]
    assert [set(each) for each in turn["messages"]] == [{"role", "content"}] * 4
    _check_history(bench, session_id, turn)


def _check_history(bench: Bench, session_id: str, turn: dict[str, Any]) -> None:
    path = f"/v1/sessions/{session_id}"
    answer = bench.client.call("GET", f"{path}/messages")
    history = answer.json()
    assert answer.headers["ETag"] == f'"{history["revision"]}-{history["total"]}"'
    assert (history["total"], history["revision"]) == (4, 0)
    bare = [{"role": each["role"], "content": each["content"]} for each in history["messages"]]
    assert bare == turn["messages"]
    assert {each["turn_id"] for each in history["messages"]} == {turn["turn_id"]}
    assert {each["turn_label"] for each in history["messages"]} == {"t_0001"}
    page = bench.client.call("GET", f"{path}/messages", params={"offset": 1, "limit": 2}).json()
    assert page["messages"] == history["messages"][1:3]
    assert page["total"] == 4
    record = bench.client.call("GET", f"{path}/turns/{turn['turn_id']}").json()
    assert bench.client.call("GET", f"{path}/turns").json() == {"session_id": session_id, "turns": [record]}
    assert bench.client.call("GET", path).json()["last_turn"] == record
    assert (record["source"], record["status"], record["permission"]) == ("client", "succeeded", "workspace")
    assert (record["stop_reason"], record["usage"]) == ("end_turn", turn["usage"])
    assert record["started_at"] <= record["ended_at"]
    assert not {"error", "profile"} & set(record)


@drives(("submit_turn", 200))
def test_streamed_turn_tells_what_happens_and_ends(bench: Bench) -> None:
    session_id = bench.client.session(capabilities={"supports_reasoning_stream": True})
    bench.upstream.add(
        [
            {"type": "thinking_delta", "text": "Hm."},
            {"type": "thinking_complete", "opaque": "sealed"},
            *use(("tu_1", "shell_execute", {"command": "echo out"}), ("tu_2", "absent_tool", {})),
        ],
        say("Done."),
    )
    events = bench.client.events(session_id)
    names = [event.name for event in events]
    assert names[:2] == ["turn.started", "message.appended"]
    assert names[-1] == "turn.finished"
    assert {
        "thinking.delta", "tool_call.composing", "tool_call.executing", "tool_call.completed",
        "tool_call.output_delta", "assistant_text.delta",
    } <= set(names)  # fmt: skip
    assert {event.data["session_id"] for event in events} == {session_id}
    assert len({event.data["turn_id"] for event in events}) == 1
    started = events[0].data
    assert (started["source"], set(started)) == (
        "client",
        {"source", "started_at", "session_id", "turn_id"},
    )
    finished = events[-1].data
    assert (finished["stop_reason"], finished["revision"]) == ("end_turn", 0)
    opened = bench.client.messages(session_id)[0]
    assert events[1].data["message"] == {key: opened[key] for key in ("role", "content", "turn_id")}
    again = bench.client.events(session_id)
    assert again[0].id is not None
    assert events[-1].id is not None
    assert again[0].id > events[-1].id


@drives(("submit_turn", 200))
def test_stream_says_how_it_is_to_be_read(bench: Bench) -> None:
    with bench.client.open_stream(bench.client.session()) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-cache, no-transform"
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert answer.raw.read().decode().startswith("retry: 3000\n\n")


@drives(("submit_turn", 202), ("get_turn", 200))
def test_detached_turn_is_answered_by_its_record(bench: Bench) -> None:
    session_id = bench.client.session()
    bench.upstream.add(HANGS)
    answer = bench.client.turn(session_id, detach=True)
    record = answer.json()
    assert answer.status_code == 202
    assert answer.headers["Location"] == f"/v1/sessions/{session_id}/turns/{record['id']}"
    assert set(record) == {"id", "source", "started_at", "permission", "usage"}
    assert bench.client.call("GET", answer.headers["Location"]).json() == record
    assert bench.client.call("GET", f"/v1/sessions/{session_id}").json()["turn_in_flight"] is True
    stop(bench, session_id)


@drives(("submit_turn", 200))
@pytest.mark.parametrize("stream", [False, True])
def test_refusal_carries_the_models_words(bench: Bench, stream: bool) -> None:
    session_id = bench.client.session()
    bench.upstream.add(
        [{"type": "text", "text": "I will not."}, {"type": "message_end", "stop_reason": "refusal"}]
    )
    if stream:
        assert bench.client.events(session_id)[-1].data["stop_reason"] == "refusal"
    else:
        assert bench.client.turn(session_id).json()["stop_reason"] == "refusal"


def stop(bench: Bench, session_id: str) -> None:
    """Cancel the turn in flight and see it end."""
    with bench.client.call("POST", f"/v1/sessions/{session_id}/cancel") as answer:
        assert answer.status_code == 204
    for _ in range(200):
        if not bench.client.call("GET", f"/v1/sessions/{session_id}").json()["turn_in_flight"]:
            return
        threading.Event().wait(0.02)
    raise AssertionError("the turn did not end")


@drives(
    ("submit_turn", 409, "turn-in-flight"),
    ("patch_session", 409, "turn-in-flight"),
    ("delete_session", 409, "turn-in-flight"),
    ("cancel_turn", 409, "turn-mismatch"),
    ("cancel_turn", 204),
)
def test_turn_in_flight_keeps_others_out(bench: Bench, tmp_path: Path) -> None:
    session_id = bench.client.session()
    path = f"/v1/sessions/{session_id}"
    bench.upstream.add(HANGS)
    turn_id = bench.client.turn(session_id, detach=True).json()["id"]
    for method, place, body in [
        ("POST", f"{path}/turn", {"message": "x"}),
        ("PATCH", path, {"profile": "main"}),
        ("PATCH", path, {"project": ""}),
        ("PATCH", path, {"working_directory": str(tmp_path), "permission": "read"}),
        ("DELETE", path, None),
    ]:
        answer = bench.client.call(method, place, json=body)
        assert (answer.status_code, slug_of(answer)) == (409, "turn-in-flight"), (method, body)
        assert answer.json()["session_id"] == session_id
    live = {"permission": "read", "approvals": True, "title": "t", "pinned": True}
    changed = bench.client.call("PATCH", path, json=live).json()
    assert (changed["permission"], changed["approvals"]) == ("read", True)
    wrong = bench.client.call("POST", f"{path}/cancel", json={"turn_id": NOWHERE})
    assert (wrong.status_code, slug_of(wrong)) == (409, "turn-mismatch")
    assert (wrong.json()["session_id"], wrong.json()["turn_id"]) == (session_id, turn_id)
    assert bench.client.call("POST", f"{path}/cancel", json={"turn_id": turn_id}).status_code == 204
    stop(bench, session_id)
    record = bench.client.call("GET", f"{path}/turns/{turn_id}").json()
    assert record["status"] == "canceled"
    assert not {"stop_reason", "error"} & set(record)


@drives(("cancel_turn", 204))
@pytest.mark.parametrize("body", [b"", b"{}", b'{"turn_id": null}', b'{"turn_id": "%b"}' % NOWHERE.encode()])
def test_cancel_with_nothing_to_cancel_is_fine(bench: Bench, body: bytes) -> None:
    headers = {"Content-Type": "application/json"} if body else {}
    for session_id in (bench.client.session(), NOWHERE):
        answer = bench.client.call("POST", f"/v1/sessions/{session_id}/cancel", data=body, headers=headers)
        assert (answer.status_code, answer.content) == (204, b"")


@drives(("submit_turn", 409, "turn-canceled"))
@pytest.mark.parametrize("withdraws", [False, True])
def test_canceled_turn_says_whether_its_message_stays(bench: Bench, withdraws: bool) -> None:
    session_id = bench.client.session()
    path = f"/v1/sessions/{session_id}"
    asked = len(bench.upstream.requests)
    bench.upstream.add(Reply([], hang=True))
    options = {"unanswered_message": "withdraw"} if withdraws else None
    with ThreadPoolExecutor(1) as pool:
        body = {"message": "go", "options": options}
        held = pool.submit(call_alone, bench, "POST", f"{path}/turn", body)
        bench.upstream.wait_for_requests(asked + 1)
        bench.client.call("POST", f"{path}/cancel")
        answer = held.result(30)
    assert (answer.status_code, slug_of(answer)) == (409, "turn-canceled")
    assert answer.json()["message_withdrawn"] is withdraws
    history = bench.client.call("GET", f"{path}/messages").json()
    assert (history["total"], history["revision"]) == ((0, 1) if withdraws else (1, 0))


@drives(("submit_turn", 422, "invalid-body"))
@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "`message`"),
        ({"message": " "}, "`message`"),
        ({"message": 1}, "`message`"),
        ({"message": "x", "stream": "yes"}, "`stream`"),
        ({"message": "x", "options": {"skill": "x"}}, "no skill named 'x'"),
        ({"message": "x", "options": {"unanswered_message": "drop"}}, "`options.unanswered_message`"),
        ({"message": "x", "options": {"x": 1}}, "`options.x`"),
        ({"message": "x", "images": [{"hash": "0" * 64}]}, "`images[0]`"),
        ({"message": "x", "images": [{"hash": "0" * 64, "media_type": "image/png"}]}, "`images[0]`"),
        ({"message": "x", "images": [{}]}, "`images[0]`"),
        ({"message": "x", "images": [{"media_type": "image/png"}]}, "`images[0]`"),
        ({"message": "x", "images": [{"media_type": "image/png", "data": "?"}]}, "`images[0]`"),
        ({"message": "x", "images": [{"media_type": "image/png", "data": png()},
                                     {"media_type": "image/png", "data": "AAAA"}]},
         "`images[1]` is invalid: unsupported image format"),
        ({"message": "x", "images": [{"url": "http://x"}]}, "`images[0].url`"),
    ],
)  # fmt: skip
def test_turn_refuses_and_names_what(bench: Bench, body: dict[str, Any], named: str) -> None:
    session_id = bench.client.session()
    answer = bench.client.call("POST", f"/v1/sessions/{session_id}/turn", json=body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert "message_withdrawn" not in answer.json()
    assert bench.client.messages(session_id) == []
    assert "last_turn" not in bench.client.call("GET", f"/v1/sessions/{session_id}").json()


@drives(("submit_turn", 422, "invalid-body"))
def test_turn_refuses_what_its_profile_cannot_do(bench: Bench) -> None:
    image = {"media_type": "image/png", "data": png()}
    blind = bench.client.session(profile="blind")
    assert "vision" in bench.client.turn(blind, images=[image]).json()["detail"]
    keyless = bench.client.session(profile="keyless")
    answer = bench.client.turn(keyless)
    assert (answer.status_code, slug_of(answer)) == (422, "invalid-body")
    gone = bench.stored_session(profile="gone")
    assert "no profile named 'gone'" in bench.client.turn(gone).json()["detail"]


@drives(("submit_turn", 422, "request-too-large"))
def test_turn_past_the_profiles_size_is_never_sent(bench: Bench) -> None:
    asked = len(bench.upstream.requests)
    session_id = bench.client.session(profile="tiny")
    answer = bench.client.turn(session_id, "x" * 2000)
    assert (answer.status_code, slug_of(answer)) == (422, "request-too-large")
    assert answer.json()["message_withdrawn"] is False
    assert len(bench.upstream.requests) == asked


@drives(("submit_turn", 200))
def test_image_is_named_by_its_hash(bench: Bench) -> None:
    session_id = bench.client.session()
    data = png()
    digest = hashlib.sha256(base64.b64decode(data)).hexdigest()
    entry = {"media_type": "application/octet-stream", "data": data}
    first = bench.client.turn(session_id, "", images=[entry]).json()
    block = {"type": "image", "media_type": "image/png", "hash": digest}
    assert first["messages"][0]["content"][1:] == [block]
    again = bench.client.turn(session_id, "again", images=[{"hash": digest}]).json()
    assert again["messages"][0]["content"][-1] == block


BUSY = {"type": "fail_retryable", "status": 429, "retry_after_secs": 0, "message": "busy"}
UPSTREAM_FAILURES: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("provider", {"type": "fail_credential", "message": "bad key"}, {}),
    ("provider", {"type": "fail_quota", "message": "no credit", "retry_after_secs": 5}, {}),
    ("provider", {"type": "fail_invalid_request", "message": "bad shape"}, {}),
    ("context-overflow", {"type": "fail_context_overflow", "message": "too long"}, {}),
    ("provider-unavailable", BUSY, {"Retry-After": "0"}),
]  # fmt: skip


@drives(("submit_turn", 502, "provider"))
@pytest.mark.parametrize(("slug", "failure", "headers"), UPSTREAM_FAILURES[:3])
def test_provider_failure_is_relayed(
    bench: Bench, slug: str, failure: dict[str, Any], headers: dict[str, str]
) -> None:
    check_failure(bench, slug, failure, headers)


@drives(("submit_turn", 502, "context-overflow"))
def test_overflow_is_relayed(bench: Bench) -> None:
    check_failure(bench, *UPSTREAM_FAILURES[3])


@drives(("submit_turn", 502, "provider-unavailable"))
def test_passing_failure_is_relayed_once_its_retries_are_spent(bench: Bench) -> None:
    check_failure(bench, *UPSTREAM_FAILURES[4], attempts=3)


def check_failure(
    bench: Bench, slug: str, failure: dict[str, Any], headers: dict[str, str], attempts: int = 1
) -> None:
    for streams in (False, True):
        session_id = bench.client.session()
        bench.upstream.add(*[[failure]] * attempts)
        if streams:
            problem = bench.client.events(session_id)[-1].data["error"]
        else:
            answer = bench.client.turn(session_id)
            problem = answer.json()
            assert answer.status_code == 502
            assert problem["message_withdrawn"] is False
            assert answer.headers.get("Retry-After") == headers.get("Retry-After")
        assert problem["type"].endswith(f"/{slug}")
        assert failure["message"] in problem["provider_response"]
        assert failure["message"] not in problem["detail"]
        turn = bench.client.call("GET", f"/v1/sessions/{session_id}").json()["last_turn"]
        assert turn["status"] == "failed"
        assert turn["error"] == {"type": problem["type"], "detail": problem["detail"]}
        assert bench.client.messages(session_id)[0]["content"][-1]["text"] == "go"


@drives(
    ("list_turns", 400, "invalid-body"),
    ("get_turn", 400, "invalid-body"),
    ("list_messages", 400, "invalid-body"),
)
def test_history_refuses_a_bad_query(bench: Bench) -> None:
    path = f"/v1/sessions/{bench.client.session()}"
    for place in (
        "turns?before=x", "turns?limit=x", "turns?limit=-1", "turns/x", "messages?offset=-1",
        "messages?limit=x", "messages?offset=1&offset=2",
    ):  # fmt: skip
        assert bench.client.call("GET", f"{path}/{place}").status_code == 400, place


@drives(("get_turn", 404, "not-found"), ("list_turns", 200))
def test_turns_page_backwards(bench: Bench) -> None:
    session_id = bench.client.session()
    path = f"/v1/sessions/{session_id}/turns"
    ran = [bench.client.turn(session_id).json()["turn_id"] for _ in range(3)]
    first = bench.client.call("GET", path, params={"limit": 2}).json()
    assert [turn["id"] for turn in first["turns"]] == [ran[2], ran[1]]
    assert first["next_before"] == ran[1]
    rest = bench.client.call("GET", path, params={"before": first["next_before"]}).json()
    assert [turn["id"] for turn in rest["turns"]] == [ran[0]]
    assert "next_before" not in rest
    other = bench.client.call("GET", f"/v1/sessions/{bench.client.session()}/turns/{ran[0]}")
    assert (other.status_code, slug_of(other)) == (404, "not-found")


@drives(
    ("create_session", 503, "store-unavailable"),
    ("patch_session", 503, "store-unavailable"),
    ("delete_session", 503, "store-unavailable"),
    ("submit_turn", 503, "store-unavailable"),
)
def test_store_that_another_process_writes_to_is_unavailable(bench: Bench) -> None:
    idle, other, steered = bench.client.session(), bench.client.session(), bench.client.session()
    calls: list[tuple[str, str, Any]] = [
        ("POST", "/v1/sessions", {}),
        ("PATCH", f"/v1/sessions/{idle}", {"title": "x"}),
        ("DELETE", f"/v1/sessions/{idle}", None),
        ("POST", f"/v1/sessions/{other}/turn", {"message": "x"}),
    ]
    with write_locked(bench.store.path), ThreadPoolExecutor(len(calls) + 1) as pool:
        live = pool.submit(call_alone, bench, "PATCH", f"/v1/sessions/{steered}", {"permission": "read"})
        answers = list(pool.map(lambda call: call_alone(bench, *call), calls))
        # What applies to the live session does so although its row cannot be written.
        assert (live.result().status_code, live.result().json()["permission"]) == (200, "read")
    assert [(answer.status_code, slug_of(answer)) for answer in answers] == [(503, "store-unavailable")] * 4
    assert {answer.headers["Retry-After"] for answer in answers} == {"1"}
    assert bench.client.messages(other) == []
    assert bench.client.turn(other).status_code == 200
    assert bench.client.call("DELETE", f"/v1/sessions/{idle}").status_code == 204


@contextmanager
def write_locked(path: Path) -> Iterator[None]:
    """SQLite's write lock on a file, held from outside of the server."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def call_alone(bench: Bench, method: str, path: str, body: Any) -> requests.Response:
    """A call on a connection of its own, as a thread needs it."""
    client = CheckedClient(bench.server.base_url)
    with client.http:
        return client.call(method, path, json=body)

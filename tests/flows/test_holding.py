"""Held and detached turns: who stops them, what they answer, how many there may be, how a drain ends them."""

import json
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.following import Follower, follow_session, stream_turn
from tests.serving import TOKEN, Client, Server, say, use

LONG = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 60_000}]


def slow_rounds(milliseconds: int) -> Sequence[Any]:
    """A round that takes a while and makes a call, so that a boundary follows; then an answer."""
    wait = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": milliseconds}]
    return [[*wait, *use(("c1", "checklist_read", {}))], say("done")]


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that plays what `playing` says; `serve` are lines of its `[serve]`."""
    with Server(tmp_path, **getattr(request, "param", {})) as running:
        yield running


def playing(*rounds: object, serve: str = "") -> pytest.MarkDecorator:
    return pytest.mark.parametrize("server", [{"rounds": rounds, "serve": serve}], indirect=True)


def in_flight(client: Client, session: str) -> bool:
    return bool(client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"])


def last_turn(client: Client, session: str) -> dict[str, Any]:
    found: dict[str, Any] = client.call("GET", f"/v1/sessions/{session}").json()["last_turn"]
    return found


def begin_json_turn(base_url: str, session: str) -> HTTPConnection:
    """A held JSON turn whose answer nobody has read yet."""
    address = urlsplit(base_url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", f"/v1/sessions/{session}/turn", json.dumps({"message": "go"}), headers)
    return connection


# Detached


@playing(say("one"))
def test_detached_turn_is_answered_with_its_record_and_where_it_is(server: Server) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        answer = client.turn(session, detach=True)
        record = answer.json()
        assert answer.status_code == 202
        assert answer.headers["Location"] == f"/v1/sessions/{session}/turns/{record['id']}"
        assert record.keys() == {"id", "source", "started_at", "permission", "usage"}
        assert (record["source"], record["permission"]) == ("client", "workspace")
        assert set(record["usage"].values()) == {0}
        finished = feed.wait_for("turn.finished")
        assert finished.data["turn_id"] == record["id"]
        stored = client.call("GET", answer.headers["Location"]).json()
        assert stored["status"] == "succeeded"
        assert {name: stored[name] for name in ("id", "source", "started_at", "permission")} == {
            name: record[name] for name in ("id", "source", "started_at", "permission")
        }


@playing(*slow_rounds(700), serve='stream_reattach_grace = "0s"')
def test_detached_turn_runs_on_though_nobody_listens(server: Server) -> None:
    client = server.client()
    session = client.session()
    client.turn(session, detach=True)
    wait_until_over(client)
    assert last_turn(client, session)["status"] == "succeeded"


@playing(*slow_rounds(700), serve='stream_reattach_grace = "0s"')
def test_dropping_a_detached_stream_changes_nothing(server: Server) -> None:
    client = server.client()
    session = client.session()
    with stream_turn(server.base_url, session, detach=True) as turn:
        assert turn.status == 200
        turn.wait_for("assistant_text.delta")
    wait_until_over(client)
    assert last_turn(client, session)["status"] == "succeeded"


@playing(say("one"))
def test_detached_stream_ends_with_its_turn(server: Server) -> None:
    session = server.client().session()
    with stream_turn(server.base_url, session, detach=True) as turn:
        turn.wait_end()
        assert (turn.names[0], turn.names[-1]) == ("turn.started", "turn.finished")


def wait_until_over(client: Client, count: int = 1) -> None:
    """Wait for the ends of turns on the server's feed, which keeps none of them going."""
    ends = ("turn.finished", "turn.canceled", "turn.failed")
    with Follower(client.base_url, "/v1/stream?last_event_id=1") as feed:
        feed.wait_until(lambda events: sum(event.name in ends for event in events) >= count)


# Held


@playing(*slow_rounds(1_500), serve='stream_reattach_grace = "200ms"')
@pytest.mark.parametrize("encoding", ["json", "stream"])
def test_held_turn_is_abandoned_at_a_boundary_after_the_grace(server: Server, encoding: str) -> None:
    client = server.client()
    session = client.session()
    leave_turn(server.base_url, session, encoding)
    wait_until_over(client)
    assert last_turn(client, session)["status"] == "canceled"
    with follow_session(server.base_url, session) as feed:
        canceled = feed.wait_for("turn.canceled")
        assert canceled.data["reason"] == "abandoned"
        assert canceled.data["message_withdrawn"] is False
        assert "tool_call.completed" in feed.names
        assert "revision" in canceled.data


def leave_turn(base_url: str, session: str, encoding: str) -> None:
    """Begin a turn and leave once it speaks."""
    if encoding == "stream":
        with stream_turn(base_url, session) as turn:
            turn.wait_for("assistant_text.delta")
        return
    connection = begin_json_turn(base_url, session)
    with follow_session(base_url, session) as feed:
        feed.wait_for("assistant_text.delta")
    connection.close()


@playing(*slow_rounds(700), serve='stream_reattach_grace = "0s"')
@pytest.mark.parametrize("encoding", ["json", "stream"])
def test_held_turn_is_abandoned_at_the_first_boundary_without_a_grace(server: Server, encoding: str) -> None:
    client = server.client()
    session = client.session()
    leave_turn(server.base_url, session, encoding)
    wait_until_over(client)
    assert last_turn(client, session)["status"] == "canceled"


@playing(*slow_rounds(700), serve='stream_reattach_grace = "0s"')
@pytest.mark.parametrize("encoding", ["json", "stream"])
def test_reader_of_the_feed_keeps_a_held_turn_going(server: Server, encoding: str) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        leave_turn(server.base_url, session, encoding)
        feed.wait_for("turn.finished")


@playing(*slow_rounds(700), serve='stream_reattach_grace = "0s"')
def test_reader_of_the_servers_feed_keeps_no_held_turn_going(server: Server) -> None:
    client = server.client()
    session = client.session()
    with Follower(server.base_url, "/v1/stream") as feed:
        leave_turn(server.base_url, session, "stream")
        assert feed.wait_for("turn.canceled").data["reason"] == "abandoned"


@playing(*slow_rounds(1_200), serve='stream_reattach_grace = "60s"')
def test_listener_that_returns_within_the_grace_finds_the_turn_running(server: Server) -> None:
    client = server.client()
    session = client.session()
    leave_turn(server.base_url, session, "stream")
    with follow_session(server.base_url, session) as feed:
        feed.wait_for("turn.finished")
        assert feed.events[0].data["resumed"] is True


@playing(*slow_rounds(400), serve='stream_reattach_grace = "0s"')
def test_held_json_turn_runs_while_its_client_waits(server: Server) -> None:
    client = server.client()
    answer = client.turn(client.session()).json()
    assert answer["stop_reason"] == "end_turn"
    assert [message["role"] for message in answer["messages"]] == ["user", "assistant", "user", "assistant"]


# One at a time, so many at once


@playing(LONG, LONG)
def test_two_turns_at_the_same_moment_are_one_turn_and_a_conflict(server: Server) -> None:
    client = server.client()
    session = client.session()
    ready = threading.Barrier(2)

    def submit(_: int) -> requests.Response:
        ready.wait(10)
        return Client(server.base_url).turn(session, detach=True)

    with ThreadPoolExecutor(2) as pool:
        answers = sorted(pool.map(submit, range(2)), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [202, 409]
    assert answers[1].json()["type"].endswith("/turn-in-flight")
    assert answers[1].json()["session_id"] == session
    assert sum(message["role"] == "user" for message in client.messages(session)) == 1
    client.call("POST", f"/v1/sessions/{session}/cancel")


@playing(LONG, say("two"), serve="max_concurrent_turns = 1")
def test_turn_past_the_cap_is_refused_with_when_to_retry(server: Server) -> None:
    client = server.client()
    first, second = client.session(), client.session()
    client.turn(first, detach=True)
    for options in ({}, {"stream": True}, {"detach": True}):
        refused = client.turn(second, **options)
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "1"
        problem = refused.json()
        assert problem["type"].endswith("/concurrency-limit")
        assert problem["retry_after"] == 1
    assert client.turn(first).status_code == 409
    assert "last_turn" not in client.call("GET", f"/v1/sessions/{second}").json()
    client.call("POST", f"/v1/sessions/{first}/cancel")
    wait_until_over(client)
    assert client.turn(second).status_code == 200


# Cancel


@playing(LONG, say("two"))
def test_cancel_answers_at_once_twice_and_when_idle(server: Server) -> None:
    client = server.client()
    session = client.session()
    path = f"/v1/sessions/{session}/cancel"
    assert client.call("POST", path).status_code == 204
    connection = begin_json_turn(server.base_url, session)
    with follow_session(server.base_url, session) as feed:
        started = feed.wait_for("assistant_text.delta")
        other = "00000000-0000-4000-8000-000000000009"
        refused = client.call("POST", path, json={"turn_id": other})
        assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (409, "turn-mismatch")
        assert refused.json()["turn_id"] == started.data["turn_id"]
        named = {"turn_id": started.data["turn_id"]}
        assert client.call("POST", path, json=named).status_code == 204
        assert client.call("POST", path).status_code == 204
        canceled = feed.wait_for("turn.canceled")
        assert canceled.data["reason"] == "client"
        answer = connection.getresponse()
        problem = json.loads(answer.read())
        assert (answer.status, problem["type"].rpartition("/")[2]) == (409, "turn-canceled")
        assert problem["message_withdrawn"] is False
        connection.close()
        assert client.call("POST", path, json=named).status_code == 204
        assert last_turn(client, session)["status"] == "canceled"
        assert "stop_reason" not in last_turn(client, session)
        assert client.turn(session).status_code == 200
        assert feed.names.count("turn.canceled") == 1
    unknown = client.call("POST", f"/v1/sessions/{other}/cancel")
    assert unknown.status_code == 204


@playing(use(("c1", "shell_execute", {"command": "sleep 60"})), say("after"))
def test_cancel_in_the_middle_of_a_call_leaves_it_one_result(server: Server) -> None:
    client = server.client()
    session = client.session(permission="unrestricted")
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("tool_call.executing")
        client.call("POST", f"/v1/sessions/{session}/cancel")
        turn.wait_end()
        assert turn.names[-1] == "turn.canceled"
    assert client.turn(session, "again").json()["stop_reason"] == "end_turn"
    blocks = [block for message in client.messages(session) for block in message["content"]]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [(result["tool_use_id"], result["is_error"]) for result in results] == [("c1", True)]


# The drain


@playing(LONG, LONG, LONG, serve='shutdown_drain_timeout = "10s"')
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_drain_tells_every_open_stream_and_exits_clean(server: Server, number: int) -> None:
    client = server.client()
    sessions = [client.session() for _ in range(3)]
    with (
        stream_turn(server.base_url, sessions[0]) as held,
        stream_turn(server.base_url, sessions[1], detach=True) as detached,
        follow_session(server.base_url, sessions[2]) as feed,
        Follower(server.base_url, "/v1/stream") as everything,
    ):
        connection = begin_json_turn(server.base_url, sessions[2])
        for stream in (held, detached, feed):
            stream.wait_for("assistant_text.delta")
        assert server.stop(number) == 0
        for stream in (held, detached, feed):
            stream.wait_end()
            assert stream.names[-1] == "turn.canceled"
            assert stream.events[-1].id is not None
            assert stream.events[-1].data["reason"] == "server_shutdown"
        everything.wait_end()
        assert everything.names.count("turn.canceled") == 3
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["status"]) == (409, 409)
        connection.close()
    server.start()
    again = server.client()
    for session in sessions:
        assert last_turn(again, session)["status"] == "canceled"
        assert again.messages(session)[-1]["content"] == [{"type": "text", "text": "so"}]


@playing(
    [{"type": "text", "text": "so"}, {"type": "stall", "ms": 8_000}], serve='shutdown_drain_timeout = "500ms"'
)
def test_drain_that_runs_out_of_time_says_so_and_ends_its_streams(server: Server) -> None:
    session = server.client().session()
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("assistant_text.delta")
        assert server.stop() == 1
        turn.wait_end()
        assert turn.names[-1] == "turn.failed"
        assert turn.events[-1].id is None
        assert turn.events[-1].data["error"]["type"].endswith("/stream-detached")
    assert any("drain ran out of time" in line for line in server.log)

"""The session feed and the server feed over loopback: joining, resuming, holes, who may read."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.following import Follower, follow_session, stream_turn
from tests.serving import TOKEN, Client, Server, say, use

READER = "reader-token-0123456789"
MORE = f"""
[[serve.tokens]]
token = "{READER}"
scopes = ["sessions:r"]

[[serve.tokens]]
token = "writer-token-0123456789"
scopes = ["sessions:w"]
"""
LONG = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 60_000}]


def deltas(count: int, text: str = "x") -> list[dict[str, object]]:
    return [*({"type": "text", "text": text} for _ in range(count)), *say("")[1:]]


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that plays what `playing` says; `serve` are lines of its `[serve]`."""
    given = {"more": MORE, **getattr(request, "param", {})}
    with Server(tmp_path, **given) as running:
        yield running


def playing(*rounds: object, serve: str = "", more: str = "") -> pytest.MarkDecorator:
    given = {"rounds": rounds, "serve": serve, "more": MORE + more}
    return pytest.mark.parametrize("server", [given], indirect=True)


@playing(say("one"), say("two"))
def test_feed_carries_every_event_across_turns(server: Server) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        assert feed.status == 200
        assert feed.headers["Content-Type"].startswith("text/event-stream")
        assert feed.headers["Cache-Control"] == "no-cache, no-transform"
        assert feed.headers["X-Accel-Buffering"] == "no"
        turns = [client.turn(session).json()["turn_id"] for _ in range(2)]
        feed.wait_for("turn.finished", 2)
        assert feed.first_line == "retry: 3000"
        assert feed.names == ["turn.started", "message.appended", "assistant_text.delta", "turn.finished"] * 2
        assert feed.ids == list(range(feed.ids[0], feed.ids[0] + 8))
        assert [event.data["turn_id"] for event in feed.events] == [turns[0]] * 4 + [turns[1]] * 4
        assert {event.data["session_id"] for event in feed.events} == {session}


@playing(deltas(300), say("two"))
def test_stream_of_a_turn_is_that_turn_and_ends_with_it(server: Server) -> None:
    session = server.client().session()
    with stream_turn(server.base_url, session) as turn:
        events = turn.wait_end()
        assert turn.names == [
            "turn.started",
            "message.appended",
            *["assistant_text.delta"] * 300,
            "turn.finished",
        ]
        assert turn.ids == list(range(turn.ids[0], turn.ids[0] + 303))
        assert events[-1].data["stop_reason"] == "end_turn"


@playing(say("one"))
def test_reader_that_comes_back_is_replayed_what_it_missed_header_before_query(server: Server) -> None:
    client = server.client()
    session = client.session()
    client.turn(session)
    with follow_session(server.base_url, session) as feed:
        feed.wait_for("turn.finished")
        ids = feed.ids
    with follow_session(server.base_url, session, f"?last_event_id={ids[1]}") as feed:
        feed.wait_for("turn.finished")
        assert feed.ids == ids[2:]
    header = {"Last-Event-ID": str(ids[2])}
    with follow_session(server.base_url, session, f"?last_event_id={ids[0]}", headers=header) as feed:
        feed.wait_for("turn.finished")
        assert feed.ids == ids[3:]
        assert "feed.gap" not in feed.names


@playing(say("one"), say("two"))
@pytest.mark.parametrize("given", ["garbage", "-17", "9" * 30, "1", "%00", "1793001600000042.5"])
def test_position_that_was_never_issued_is_a_gap_then_the_feed(server: Server, given: str) -> None:
    client = server.client()
    session = client.session()
    client.turn(session)
    with follow_session(server.base_url, session, f"?last_event_id={given}") as feed:
        assert feed.status == 200
        feed.wait_for("turn.finished")
        assert feed.events[0].name == "feed.gap"
        assert feed.events[0].id is None
        assert feed.events[0].data == {"session_id": session}
        client.turn(session)
        feed.wait_for("turn.finished", 2)


@playing(deltas(20), serve="stream_replay_events = 5")
def test_hole_is_named_with_its_size(server: Server) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        client.turn(session)
        feed.wait_for("turn.finished")
        first = feed.ids[0]
    with follow_session(server.base_url, session, f"?last_event_id={first}") as feed:
        feed.wait_for("turn.finished")
        assert feed.events[0].data["dropped"] == 17
        assert feed.ids == list(range(first + 18, first + 23))


@playing(deltas(20), serve="stream_replay_events = 0")
def test_late_reader_learns_the_outcome_where_nothing_is_replayed(server: Server) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        client.turn(session)
        feed.wait_for("turn.finished")
        first, last = feed.ids[0], feed.ids[-1]
    with follow_session(server.base_url, session, f"?last_event_id={first}") as feed:
        feed.wait_for("turn.finished")
        assert feed.names == ["feed.gap", "turn.finished"]
    client.call("PATCH", f"/v1/sessions/{session}", json={"title": "a"})
    with follow_session(server.base_url, session, f"?last_event_id={last + 1}") as feed:
        client.call("PATCH", f"/v1/sessions/{session}", json={"title": "b"})
        feed.wait_for("session.updated")
        assert feed.names == ["session.updated"]


@playing(LONG)
def test_reader_that_joins_a_turn_is_told_which(server: Server) -> None:
    client = server.client()
    session = client.session()
    turn_id = client.turn(session, "words", detach=True).json()["id"]
    with follow_session(server.base_url, session) as feed:
        feed.wait_for("assistant_text.delta")
        assert feed.names[:3] == ["turn.started", "turn.started", "message.appended"]
        resumed = feed.events[0]
        assert resumed.id is None
        assert resumed.data == {
            "resumed": True,
            "source": "client",
            "turn_id": turn_id,
            "session_id": session,
        }
    with follow_session(server.base_url, session, f"?last_event_id={feed.ids[0]}") as again:
        again.wait_for("assistant_text.delta")
        assert again.names == ["turn.started", "message.appended", "assistant_text.delta"]
        assert again.ids == feed.ids[1:]
    client.call("POST", f"/v1/sessions/{session}/cancel")


@playing(LONG, serve="stream_replay_events = 0")
def test_reader_that_joins_a_turn_is_told_its_opening_where_nothing_is_replayed(server: Server) -> None:
    client = server.client()
    session = client.session()
    with stream_turn(server.base_url, session, "the words") as turn:
        turn.wait_for("assistant_text.delta")
        with follow_session(server.base_url, session) as feed:
            message = feed.wait_for("message.appended")
            assert feed.names == ["turn.started", "message.appended"]
            assert message.id is None
            assert message.data["resumed"] is True
            assert message.data["message"]["content"][-1] == {"type": "text", "text": "the words"}
            assert message.data["message"] == turn.events[1].data["message"]
        with follow_session(server.base_url, session, "?last_event_id=7") as feed:
            feed.wait_for("feed.gap")
            assert feed.names == ["turn.started", "message.appended", "feed.gap"]
        with follow_session(server.base_url, session, f"?last_event_id={turn.ids[-1]}") as feed:
            client.call("POST", f"/v1/sessions/{session}/cancel")
            feed.wait_for("turn.canceled")
            assert feed.names == ["turn.started", "turn.canceled"]


@playing(say("one"))
def test_only_a_token_that_drives_sessions_loads_one(server: Server) -> None:
    session = server.client().session()
    server.stop()
    server.start()
    path = f"/v1/sessions/{session}/stream"
    refused = server.client(READER).call("GET", path)
    assert refused.status_code == 409
    assert refused.json()["type"].endswith("/session-not-loaded")
    assert refused.json()["session_id"] == session
    assert server.client(READER).call("HEAD", path).status_code == 200
    assert server.client(READER).call("GET", path).status_code == 409
    assert server.client("writer-token-0123456789").call("GET", path).status_code == 403
    assert server.client(READER).call("GET", path + "?attend=true").status_code == 403
    with follow_session(server.base_url, session) as writer:
        assert writer.status == 200
        with follow_session(server.base_url, session, token=READER) as reader:
            assert reader.status == 200
            server.client().turn(session)
            assert reader.wait_for("turn.finished").data == writer.wait_for("turn.finished").data


@playing(say("one"), say("two"))
def test_ids_after_a_restart_are_above_every_id_before(server: Server) -> None:
    client = server.client()
    session = client.session()
    with follow_session(server.base_url, session) as feed:
        client.turn(session)
        feed.wait_for("turn.finished")
        before = feed.ids
    server.stop()
    server.start()
    with follow_session(server.base_url, session, f"?last_event_id={before[-1]}") as feed:
        server.client().turn(session)
        feed.wait_for("turn.finished")
        assert feed.events[0].name == "feed.gap"
        assert "dropped" not in feed.events[0].data
        assert feed.ids[0] > before[-1]


@playing(say("one"))
def test_session_that_another_process_holds_has_no_feed_here(server: Server, tmp_path: Path) -> None:
    session = server.client().session()
    other = Server(tmp_path, more=MORE)
    other.start()
    try:
        refused = other.client().call("GET", f"/v1/sessions/{session}/stream")
        assert refused.status_code == 409
        assert refused.json()["type"].endswith("/session-locked")
        assert refused.json()["session_id"] == session
    finally:
        other.stop()


@playing()
def test_unknown_session_has_no_feed(server: Server) -> None:
    client = server.client()
    unknown = client.call("GET", "/v1/sessions/00000000-0000-4000-8000-000000000009/stream")
    assert (unknown.status_code, unknown.json()["type"].rpartition("/")[2]) == (404, "session-not-found")
    assert client.call("GET", "/v1/sessions/no-uuid/stream").status_code == 400


@playing(use(("c1", "shell_execute", {"command": "echo out; sleep 0.4; echo more"})), say("done"))
def test_output_of_a_command_streams_without_numbers_and_is_not_replayed(server: Server) -> None:
    session = server.client().session(permission="unrestricted")
    with stream_turn(server.base_url, session) as turn:
        events = turn.wait_end()
        chunks = [event for event in events if event.name == "tool_call.output_delta"]
        assert "".join(event.data["chunk"] for event in chunks) == "out\nmore\n"
        assert {event.id for event in chunks} == {None}
        executing, completed = (turn.names.index(f"tool_call.{name}") for name in ("executing", "completed"))
        assert all(executing < events.index(event) < completed for event in chunks)
        assert turn.ids == list(range(turn.ids[0], turn.ids[-1] + 1))
    with follow_session(server.base_url, session) as feed:
        feed.wait_for("turn.finished")
        assert "tool_call.output_delta" not in feed.names


@playing(say("one"))
def test_change_of_a_record_is_told_on_both_feeds_and_one_without_effect_on_none(server: Server) -> None:
    client = server.client()
    with Follower(server.base_url, "/v1/stream", token=READER) as all_sessions:
        session = client.session()
        created = all_sessions.wait_for("session.created")
        assert created.data["session_id"] == created.data["id"] == session
        with follow_session(server.base_url, session) as feed:
            path = f"/v1/sessions/{session}"
            before = client.call("GET", path).json()["updated_at"]
            for body in ({"permission": "workspace"}, {"title": ""}, {"pinned": False}, {}):
                assert client.call("PATCH", path, json=body).status_code == 200
            assert client.call("GET", path).json()["updated_at"] == before
            client.call("PATCH", path, json={"title": "named"})
            here, there = feed.wait_for("session.updated"), all_sessions.wait_for("session.updated")
            for event in (here, there):
                assert event.id is not None
                assert (event.data["id"], event.data["session_id"]) == (session, session)
                assert event.data["title"] == "named"
                assert "turn_id" not in event.data
            client.turn(session)
            feed.wait_for("turn.finished")
            all_sessions.wait_for("turn.finished")
            client.call("DELETE", path)
            feed.wait_end()
        deleted = all_sessions.wait_for("session.deleted")
        assert deleted.data == {"id": session, "session_id": session}
        assert all_sessions.names == [
            "session.created",
            "session.updated",
            "turn.started",
            "turn.finished",
            "session.deleted",
        ]
        assert all_sessions.ids == list(range(all_sessions.ids[0], all_sessions.ids[0] + 5))
        assert feed.names.count("session.updated") == 1
    with Follower(server.base_url, f"/v1/stream?last_event_id={all_sessions.ids[2]}") as again:
        again.wait_for("session.deleted")
        assert again.ids == all_sessions.ids[3:]
    with Follower(server.base_url, "/v1/stream", headers={"Last-Event-ID": "x"}) as again:
        again.wait_for("session.deleted")
        assert again.events[0].data == {}
        assert again.ids == all_sessions.ids


@playing(LONG)
def test_change_during_a_turn_is_not_on_the_turns_own_stream(server: Server) -> None:
    client = server.client()
    session = client.session()
    with stream_turn(server.base_url, session) as turn, follow_session(server.base_url, session) as feed:
        started = turn.wait_for("assistant_text.delta")
        client.call("PATCH", f"/v1/sessions/{session}", json={"title": "named"})
        updated = feed.wait_for("session.updated")
        assert updated.data["turn_id"] == started.data["turn_id"]
        client.call("POST", f"/v1/sessions/{session}/cancel")
        turn.wait_end()
        assert "session.updated" not in turn.names


@playing(*[deltas(400, "x" * 1_500) for _ in range(20)], more="\n[session]\nauto_compact = false\n")
def test_readers_that_never_read_cost_a_live_one_nothing(server: Server) -> None:
    client = server.client()
    session = client.session()
    stalled = [StalledReader(server.base_url, f"/v1/sessions/{session}/stream") for _ in range(8)]
    try:
        with follow_session(server.base_url, session) as live:
            for _ in range(20):
                assert client.turn(session).status_code == 200
            live.wait_for("turn.finished", 20)
            assert "feed.gap" not in live.names
            assert live.ids == list(range(live.ids[0], live.ids[0] + 20 * 403))
        for reader in stalled:
            received = reader.read_until(b"event: turn.finished\nid: %d\n" % live.ids[-1])
            assert b"event: feed.gap" in received
    finally:
        for reader in stalled:
            reader.close()


class StalledReader:
    """A client with a small window that does not read until it is told to."""

    def __init__(self, base_url: str, path: str, method: str = "GET", body: str = "") -> None:
        address = urlsplit(base_url)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        self._socket.settimeout(20)
        self._socket.connect((address.hostname, address.port))
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._socket.sendall(f"{head}\r\n{body}".encode())
        self.received = self._socket.recv(64)

    def read_until(self, mark: bytes) -> bytes:
        """Everything up to a mark."""
        while mark not in self.received:
            piece = self._socket.recv(65536)
            assert piece, self.received[-500:]
            self.received += piece
        return self.received

    def close(self) -> None:
        self._socket.close()


BIG = "x" * 60_000


@playing(deltas(600, BIG))
def test_sole_reader_of_a_held_stream_that_falls_behind_ends_the_turn(server: Server) -> None:
    client: Client = server.client()
    session = client.session()
    reader = StalledReader(
        server.base_url, f"/v1/sessions/{session}/turn", "POST", '{"message": "go", "stream": true}'
    )
    try:
        record = wait_for_end(client, session)
        assert record["status"] == "canceled"
        received = reader.read_until(b"0\r\n\r\n")
        last = received[received.rindex(b"event: ") :]
        assert last.startswith(b"event: turn.failed\ndata: ")
        assert b"https://meka.run/errors/sse-lag" in last
        assert b"message_withdrawn" not in last
    finally:
        reader.close()
    with follow_session(server.base_url, session, "?last_event_id=1") as feed:
        ended = feed.wait_for("turn.canceled")
        assert ended.data["reason"] == "sse_lag"
        assert ended.data["message_withdrawn"] is False


def wait_for_end(client: Client, session: str) -> dict[str, object]:
    """The record of the session's last turn once it is over, told by the server's feed."""
    with Follower(client.base_url, "/v1/stream?last_event_id=1") as feed:
        feed.wait_until(lambda events: any(
            event.name in ("turn.finished", "turn.canceled", "turn.failed") for event in events))  # fmt: skip
    record: dict[str, object] = client.call("GET", f"/v1/sessions/{session}").json()["last_turn"]
    return record


@playing(deltas(600, BIG))
def test_detached_stream_that_falls_behind_is_caught_up(server: Server) -> None:
    client: Client = server.client()
    session = client.session()
    body = '{"message": "go", "stream": true, "detach": true}'
    reader = StalledReader(server.base_url, f"/v1/sessions/{session}/turn", "POST", body)
    try:
        assert wait_for_end(client, session)["status"] == "succeeded"
        received = reader.read_until(b"0\r\n\r\n")
        assert b"event: feed.gap" in received
        assert received[received.rindex(b"event: ") :].startswith(b"event: turn.finished\n")
    finally:
        reader.close()


@playing(say("one"), serve='idle_timeout = "500ms"\ngc_scan_interval = "100ms"')
def test_reader_that_may_not_drive_a_session_keeps_it_no_longer_loaded(server: Server) -> None:
    session = server.client().session()
    path = f"/v1/sessions/{session}/stream"
    with follow_session(server.base_url, session, token=READER) as reader:
        reader.wait_end()
    assert server.client(READER).call("GET", path).status_code == 409
    with (
        follow_session(server.base_url, session) as writer,
        follow_session(server.base_url, session, token=READER) as reader,
    ):
        server.client().turn(session)
        writer.wait_for("turn.finished")
        reader.wait_for("turn.finished")
        with follow_session(server.base_url, server.client().session(), token=READER) as other:
            other.wait_end()
        assert server.client(READER).call("HEAD", path).status_code == 200
        with follow_session(server.base_url, session, token=READER) as late:
            assert late.status == 200

"""Approvals over loopback: who is asked, what an answer does, what a prompt outlives."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.following import Follower, follow_session, stream_turn
from tests.serving import Client, Event, Server, say, use


def write(call_id: str, path: str) -> tuple[str, str, Mapping[str, Any]]:
    return (call_id, "file_write", {"path": path, "content": f"text of {path}"})


ASKS = use(write("c1", "a.txt"))


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that plays what `playing` says; `serve` are lines of its `[serve]`."""
    with Server(tmp_path, **getattr(request, "param", {})) as running:
        yield running


def playing(*rounds: object, serve: str = "") -> pytest.MarkDecorator:
    return pytest.mark.parametrize("server", [{"rounds": rounds, "serve": serve}], indirect=True)


def make_session(client: Client, **capabilities: bool) -> str:
    return client.session(permission="read", approvals=True, capabilities=capabilities)


def answer(client: Client, session: str, prompt: Event, outcome: str, **more: Any) -> requests.Response:
    path = f"/v1/sessions/{session}/responses/{prompt.data['request_id']}"
    return client.call("POST", path, json={"outcome": outcome, **more})


def record(client: Client, session: str) -> dict[str, Any]:
    found: dict[str, Any] = client.call("GET", f"/v1/sessions/{session}").json()
    return found


def results(client: Client, session: str) -> list[tuple[str, bool]]:
    blocks = [block for message in client.messages(session) for block in message["content"]]
    return [(block["tool_use_id"], block["is_error"]) for block in blocks if block["type"] == "tool_result"]


def written(server: Server, name: str) -> bool:
    return (server.root / "work" / name).exists()


@playing(ASKS, say("done"))
def test_streaming_client_is_asked_and_its_word_runs_the_call(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn, Follower(server.base_url, "/v1/stream") as everything:
        prompt = turn.wait_for("permission_required")
        assert prompt.data["tool_name"] == "file_write"
        assert prompt.data["input"] == {"path": "a.txt", "content": "text of a.txt"}
        assert prompt.data["expires_in_seconds"] == 1800
        assert record(client, session)["approvals_pending"] == 1
        listed = client.call("GET", "/v1/sessions").json()["sessions"]
        assert [each["approvals_pending"] for each in listed if each["id"] == session] == [1]
        assert not written(server, "a.txt")
        assert answer(client, session, prompt, "allow").status_code == 204
        assert turn.wait_for("permission_resolved").data["outcome"] == "allow"
        turn.wait_end()
        assert turn.names[-1] == "turn.finished"
        assert written(server, "a.txt")
        assert record(client, session)["approvals_pending"] == 0
        second = answer(client, session, prompt, "deny")
        assert (second.status_code, second.json()["type"].rpartition("/")[2]) == (404, "request-not-found")
        assert second.json()["request_id"] == prompt.data["request_id"]
        everything.wait_for("turn.finished")
        assert {"permission_required", "permission_resolved"} <= set(everything.names)


@playing(use(write("c1", "/outside.txt")), say("done"))
def test_approval_widens_no_reach(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        answer(client, session, turn.wait_for("permission_required"), "allow")
        assert turn.wait_for("tool_call.completed").data["is_error"] is True
        turn.wait_end()
    assert not Path("/outside.txt").exists()


@playing(ASKS, say("done"))
@pytest.mark.parametrize("returns", [False, True])
def test_held_json_turn_is_refused_with_a_notice_when_nobody_attends(server: Server, returns: bool) -> None:
    client = server.client()
    session = make_session(client, answers_prompts_on_return=returns)
    (notice,) = client.turn(session).json()["notices"]
    assert notice["level"] == "warn"
    assert "attend=true" in notice["text"]
    assert "answers_prompts_on_return" in notice["text"]
    assert results(client, session) == [("c1", True)]
    assert not written(server, "a.txt")


@playing(ASKS, say("done"), ASKS, say("done"))
def test_client_without_a_place_to_show_prompts_is_refused_at_once(server: Server) -> None:
    client = server.client()
    session = make_session(client, supports_permission_prompts=False)
    with stream_turn(server.base_url, session) as turn:
        turn.wait_end()
        assert "permission_required" not in turn.names
        assert turn.wait_for("notice").data["level"] == "warn"
    with follow_session(server.base_url, session, "?attend=true") as feed:
        with stream_turn(server.base_url, session) as turn:
            answer(client, session, feed.wait_for("permission_required"), "allow")
            turn.wait_end()
        assert written(server, "a.txt")


@playing(ASKS, say("done"))
def test_reader_that_attends_is_asked_for_a_json_turn(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with follow_session(server.base_url, session, "?attend=true") as feed:
        client.turn(session, detach=True)
        answer(client, session, feed.wait_for("permission_required"), "deny")
        feed.wait_for("turn.finished")
    assert results(client, session) == [("c1", True)]
    assert not written(server, "a.txt")


@playing(use(write("c1", "a.txt"), write("c2", "b.txt")), say("done"))
def test_of_two_parallel_calls_one_is_denied_and_each_has_its_result_in_call_order(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("permission_required", 1)
        for count in (1, 2):
            prompt = turn.wait_for("permission_required", count)
            outcome = "deny" if prompt.data["input"]["path"] == "a.txt" else "allow"
            assert answer(client, session, prompt, outcome).status_code == 204
        turn.wait_end()
        completed = [event.data for event in turn.events if event.name == "tool_call.completed"]
    assert [(each["id"], each["is_error"]) for each in completed] == [("c1", True), ("c2", False)]
    assert results(client, session) == [("c1", True), ("c2", False)]
    assert not written(server, "a.txt")
    assert written(server, "b.txt")


@playing(
    use(write("c1", "a.txt")), say("1"), use(write("c2", "b.txt")), say("2"),
    use(("c3", "shell_execute", {"command": "true"})), say("3"),
)  # fmt: skip
@pytest.mark.parametrize(("outcome", "is_written"), [("allow_always", True), ("deny_always", False)])
def test_answer_that_sticks_is_not_asked_for_again(server: Server, outcome: str, is_written: bool) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        answer(client, session, turn.wait_for("permission_required"), outcome)
        turn.wait_end()
        assert turn.wait_for("permission_resolved").data["outcome"] == outcome
    with stream_turn(server.base_url, session) as turn:
        turn.wait_end()
        assert "permission_required" not in turn.names
    assert written(server, "b.txt") is is_written


@playing(ASKS, say("done"))
def test_prompt_is_canceled_with_its_turn(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        prompt = turn.wait_for("permission_required")
        client.call("POST", f"/v1/sessions/{session}/cancel")
        turn.wait_end()
        assert turn.wait_for("permission_resolved").data["outcome"] == "canceled"
        assert turn.names[-1] == "turn.canceled"
    assert answer(client, session, prompt, "allow").status_code == 404
    assert results(client, session) == [("c1", True)]


@playing(ASKS, say("done"), serve='stream_reattach_grace = "300ms"')
def test_prompt_of_a_detached_stream_is_canceled_after_the_grace(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session, detach=True) as turn:
        turn.wait_for("permission_required")
    with follow_session(server.base_url, session) as feed:
        assert feed.wait_for("permission_resolved").data["outcome"] == "canceled"
        feed.wait_for("turn.finished")


@playing(ASKS, say("done"), serve='stream_reattach_grace = "0s"')
def test_prompt_waits_for_a_client_that_returns_and_is_handed_to_it(server: Server) -> None:
    client = server.client()
    session = make_session(client, answers_prompts_on_return=True)
    with Follower(server.base_url, "/v1/stream") as everything:
        client.turn(session, detach=True)
        waiting = everything.wait_for("permission_required")
    for query in ("?attend=true", "?attend=true&last_event_id=5"):
        with follow_session(server.base_url, session, query) as feed:
            handed = feed.wait_for("permission_required")
            assert handed.data["request_id"] == waiting.data["request_id"]
            assert handed.data["expires_at"] == waiting.data["expires_at"]
            last = feed.ids[-1]
    with follow_session(server.base_url, session, f"?attend=true&last_event_id={last}") as feed:
        prompt = feed.wait_for("permission_required")
        assert record(client, session)["turn_in_flight"] is True
        answer(client, session, prompt, "allow")
        feed.wait_for("turn.finished")
    assert written(server, "a.txt")
    with follow_session(server.base_url, session) as feed:
        feed.wait_for("turn.finished")
        assert "permission_required" not in feed.names


@playing(ASKS, say("done"), serve='stream_reattach_grace = "60s"')
def test_prompt_is_handed_from_a_stream_that_left_to_a_reader_that_attends(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("permission_required")
    with follow_session(server.base_url, session, "?attend=true") as feed:
        answer(client, session, feed.wait_for("permission_required"), "allow")
        feed.wait_for("turn.finished")
    assert written(server, "a.txt")


@playing(ASKS, say("done"))
def test_answer_of_the_wrong_kind_is_refused_and_the_prompt_stays(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        prompt = turn.wait_for("permission_required")
        assert answer(client, session, prompt, "accept").status_code == 422
        assert answer(client, session, prompt, "allow", content={}).status_code == 422
        assert answer(client, session, prompt, "perhaps").status_code == 422
        assert record(client, session)["approvals_pending"] == 1
        assert answer(client, session, prompt, "deny").status_code == 204
        turn.wait_end()


PAUSE = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 1_500}]


@playing([*PAUSE, *ASKS], [*PAUSE, *use(write("c2", "b.txt"))], say("done"))
def test_level_and_switch_are_brakes_in_the_middle_of_a_turn(server: Server) -> None:
    client = server.client()
    session = client.session(permission="workspace")
    path = f"/v1/sessions/{session}"
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("assistant_text.delta", 1)
        assert client.call("PATCH", path, json={"permission": "read"}).status_code == 200
        assert client.call("PATCH", path, json={"profile": "scripted"}).status_code == 409
        assert turn.wait_for("tool_call.completed", 1).data["is_error"] is True
        assert "permission_required" not in turn.names
        turn.wait_for("assistant_text.delta", 2)
        client.call("PATCH", path, json={"approvals": True})
        answer(client, session, turn.wait_for("permission_required"), "allow")
        assert turn.wait_for("tool_call.completed", 2).data["is_error"] is False
        turn.wait_end()
    assert not written(server, "a.txt")
    assert written(server, "b.txt")
    assert record(client, session)["last_turn"]["permission"] == "workspace"


@playing(ASKS)
def test_prompt_is_closed_by_a_drain(server: Server) -> None:
    client = server.client()
    session = make_session(client)
    with stream_turn(server.base_url, session) as turn:
        turn.wait_for("permission_required")
        assert server.stop() == 0
        turn.wait_end()
        assert turn.wait_for("permission_resolved").data["outcome"] == "canceled"
        assert turn.events[-1].data["reason"] == "server_shutdown"

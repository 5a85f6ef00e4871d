"""What a served file changes for who is there already: tokens and their streams, profiles, instructions."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from meka.store import sessions
from tests.contract.bench import TOKENS, Bench, running
from tests.contract.test_installation import add_account, add_profile, edited, file_of
from tests.contract.test_logins import AuthorizationServer, authority, subscription, tokens
from tests.loopback_provider import Reply
from tests.serving import read_events, say

__all__ = ["authority"]
HANGS = Reply([{"type": "text", "text": "Let me think"}], hang=True)


@contextmanager
def held_to(bench: Bench, token: str, scopes: list[str] | None) -> Iterator[None]:
    """A token that holds other scopes in the file that is served, or (None) is not in it."""
    old = f'token = "{token}"\nscopes = {json.dumps(TOKENS[token])}'
    new = (
        'token = "gone"\nscopes = []'
        if scopes is None
        else f'token = "{token}"\nscopes = {json.dumps(scopes)}'
    )
    with edited(bench, old, new):
        assert bench.client.call("POST", "/v1/config/reload").status_code == 200
        yield


def names(stream: requests.Response) -> list[str]:
    """The events of a stream until its end."""
    return [event.name for event in read_events(stream)]


# Tokens


@pytest.mark.parametrize("scopes", [None, ["sessions:r"]])
def test_streamed_turn_ends_for_its_reader_with_its_token_or_its_scope(
    bench: Bench, scopes: list[str] | None
) -> None:
    client = bench.client_with("without-skills:r")
    session_id = client.session()
    bench.upstream.add(HANGS)
    stream = client.open_stream(session_id)
    events = read_events(stream)
    assert next(event for event in events if event.name == "assistant_text.delta")
    with held_to(bench, "without-skills:r", scopes):
        assert "turn.finished" not in [event.name for event in events]
        refused = client.turn(session_id)
        assert refused.status_code == (401 if scopes is None else 403)
    bench.client.call("POST", f"/v1/sessions/{session_id}/cancel")


def test_streamed_turn_goes_on_when_its_token_loses_what_it_does_not_need(bench: Bench) -> None:
    client = bench.client_with("without-skills:w")
    released = threading.Event()

    def answer(_received: Any) -> Reply:
        released.wait(30)
        return Reply(say("late"))

    bench.upstream.add(answer)
    stream = client.open_stream(client.session())
    with held_to(bench, "without-skills:w", ["sessions:w"]):
        released.set()
        assert names(stream)[-1] == "turn.finished"


@pytest.mark.parametrize(
    ("query", "kept", "stays"),
    [
        ("?attend=true", ["sessions:r"], False),
        ("?attend=true", ["sessions:w"], False),
        ("?attend=true", ["sessions:r", "sessions:w"], True),
        ("", ["sessions:w"], False),
        ("", ["sessions:r", "sessions:w"], True),
    ],
)
def test_reader_of_a_feed_stays_while_its_token_holds_what_reading_so_needs(
    bench: Bench, query: str, kept: list[str], stays: bool
) -> None:
    client = bench.client_with("without-schedule:w")
    session_id = client.session()
    stream = client.call("GET", f"/v1/sessions/{session_id}/stream{query}", stream=True)
    with held_to(bench, "without-schedule:w", kept):
        bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"title": "after"})
        if stays:
            assert next(read_events(stream)).name == "session.updated"
        else:
            assert names(stream) == []
    stream.close()


def test_reader_that_never_kept_its_session_needs_only_to_read(bench: Bench) -> None:
    session_id = bench.client.session()
    client = bench.client_with("without-sessions:w")
    stream = client.call("GET", f"/v1/sessions/{session_id}/stream", stream=True)
    with held_to(bench, "without-sessions:w", ["sessions:r"]):
        bench.client.call("PATCH", f"/v1/sessions/{session_id}", json={"title": "after"})
        assert next(read_events(stream)).name == "session.updated"
    stream.close()


def test_request_that_is_running_finishes_under_a_token_that_is_gone(bench: Bench) -> None:
    client = bench.client_with("without-mcp:r")
    session_id = client.session()
    removed = threading.Event()
    answers: list[requests.Response] = []

    def answer(_received: Any) -> Reply:
        removed.wait(30)
        return Reply(say("in time"))

    bench.upstream.requests.clear()
    bench.upstream.add(answer)
    turn = threading.Thread(target=lambda: answers.append(client.turn(session_id)))
    turn.start()
    bench.upstream.wait_for_requests(1)
    with held_to(bench, "without-mcp:r", None):
        assert requests.get(
            f"{bench.server.base_url}/v1/info", headers={"Authorization": "Bearer without-mcp:r"}, timeout=30
        ).status_code == 401  # fmt: skip
        removed.set()
        turn.join(60)
    assert [each.status_code for each in answers] == [200]
    assert "in time" in answers[0].text


# Profiles


def test_rename_is_told_by_resident_sessions_and_their_next_turn_goes_on(bench: Bench) -> None:
    add_profile(bench, "before", model="pinned")
    client = bench.client
    session_id = client.session(profile="before")
    bench.upstream.requests.clear()
    assert client.turn(session_id).status_code == 200
    client.call("PATCH", "/v1/profiles/before", json={"model": "changed"})
    with client.call("GET", f"/v1/sessions/{session_id}/stream", stream=True) as stream:
        assert client.call("PATCH", "/v1/profiles/before", json={"name": "after"}).status_code == 200
        told = next(event for event in read_events(stream) if event.name == "session.updated")
    assert told.data["profile"] == "after"
    assert client.turn(session_id).status_code == 200
    assert [request.body["model"] for request in bench.upstream.requests] == ["pinned", "pinned"]
    assert client.call("DELETE", "/v1/profiles/after").status_code == 204
    assert client.turn(session_id).status_code == 200


def test_rename_rewrites_the_default_and_every_list_that_names_it(tmp_path: Path) -> None:
    with running(tmp_path) as bench:
        for name in ("one", "two"):
            add_profile(bench, name, fallbacks=["main", "blind"])
        assert bench.client.call("PATCH", "/v1/profiles/main", json={"name": "first"}).status_code == 200
        text = file_of(bench).read_text()
        assert 'default_profile = "first"' in text
        assert text.count('fallbacks = ["first", "blind"]') == 2
        assert bench.client.call("GET", "/v1/profiles/first").json()["active"] is True


def test_rename_made_in_a_shell_is_taken_at_a_resident_sessions_next_turn(bench: Bench) -> None:
    add_profile(bench, "shellbefore")
    client = bench.client
    fresh, used = client.session(profile="shellbefore"), client.session(profile="shellbefore")
    assert client.turn(used).status_code == 200
    bench.store.write(lambda tx: sessions.rename_profile(tx, "shellbefore", "shellafter"))
    assert client.turn(used).status_code == 200
    with edited(bench, "[profiles.shellbefore]", "[profiles.shellafter]"):
        assert client.call("POST", "/v1/config/reload").status_code == 200
        assert client.turn(fresh).status_code == 200
        with client.call("GET", f"/v1/sessions/{used}/stream", stream=True) as stream:
            renamed = client.call("PATCH", "/v1/profiles/shellafter", json={"name": "shelllast"})
            assert renamed.status_code == 200
            told = next(event for event in read_events(stream) if event.name == "session.updated")
        assert told.data["profile"] == "shelllast"


def test_fallbacks_of_a_fallback_are_not_asked(bench: Bench) -> None:
    for name, fallbacks in [("last", []), ("middle", ["last"]), ("head", ["middle"])]:
        add_profile(bench, name, model=f"of-{name}", fallbacks=fallbacks)
    spent = Reply(status=402, body={"error": {"type": "billing_error", "message": "no credit"}})
    bench.upstream.requests.clear()
    bench.upstream.add(spent, spent)
    assert bench.client.turn(bench.client.session(profile="head")).status_code == 502
    assert [request.body["model"] for request in bench.upstream.requests] == ["of-head", "of-middle"]


def test_account_of_a_fallback_is_in_use_also_when_the_file_has_dropped_it(
    bench: Bench, authority: AuthorizationServer
) -> None:
    add_account(bench, "plain")
    with subscription(bench, authority, "spare"):
        add_profile(bench, "spare", account="spare")
        add_profile(bench, "leaning", fallbacks=["spare"])
        session_id = bench.client.session(profile="leaning")
        assert bench.client.turn(session_id).status_code == 200
        path = login(bench, authority, "spare")
        assert bench.client.call("PATCH", "/v1/profiles/leaning", json={"fallbacks": None}).status_code == 200
        assert bench.client.call("PATCH", path, json={"name": "other"}).status_code == 409
        bench.client.call("DELETE", f"/v1/sessions/{session_id}")
        assert bench.client.call("PATCH", path, json={"name": "other"}).status_code == 200


def test_token_refused_twice_is_refreshed_and_sent_again_once(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "refused"):
        login(bench, authority, "refused")
        add_profile(bench, "refused", account="refused")
        expired = Reply(status=401, body={"error": {"type": "authentication_error", "message": "no"}})
        bench.upstream.requests.clear()
        bench.upstream.add(expired, expired)
        authority.answers.append(tokens("second"))
        grants = len(authority.grants)
        assert bench.client.turn(bench.client.session(profile="refused")).status_code == 502
        assert len(bench.upstream.requests) == 2
        assert len(authority.grants) == grants + 1


def login(bench: Bench, authority: AuthorizationServer, name: str) -> str:
    path = f"/v1/accounts/{name}"
    begun = bench.client.call("POST", f"{path}/login").json()
    authority.answers.append(tokens("first"))
    answer = bench.client.call("POST", f"{path}/login/{begun['login_id']}", json={"code": "c"})
    assert answer.status_code == 200, answer.text
    return path


# Instructions


def test_files_of_the_working_directory_are_read_as_a_session_opens(tmp_path: Path) -> None:
    files = json.dumps(["AGENTS.md", "absent.md", "notes", "binary.md"])
    with running(tmp_path, serve=f"[instructions]\nfiles = {files}\n") as bench:
        project = tmp_path / "project"
        (project / "notes").mkdir(parents=True)
        (project / "AGENTS.md").write_text("Use tabs.")
        (project / "notes" / "a.md").write_text("Mind the gap.")
        (project / "binary.md").write_bytes(b"\xff")
        client = bench.client
        client.call("PUT", "/v1/instructions", json={"content": "Be kind.\n"})
        here, there = client.session(working_directory=str(project)), client.session()
        (project / "AGENTS.md").write_text("Use spaces.")
        later = client.session(working_directory=str(project))
        prompts = {each: system_of(bench, each) for each in (here, there, later)}
        assert "Be kind.\n\nUse tabs.\n\nMind the gap." in prompts[here]
        assert "Be kind." in prompts[there]
        assert "Use " not in prompts[there]
        assert "Use spaces." in prompts[later]
        assert client.call("GET", "/v1/instructions").json()["content"] == "Be kind.\n"
        assert any("binary.md" in line and "UTF-8" in line for line in bench.server.log)


def system_of(bench: Bench, session_id: str) -> str:
    """The system prompt of a session's next request."""
    bench.upstream.requests.clear()
    assert bench.client.turn(session_id).status_code == 200
    system = bench.upstream.requests[-1].body["system"]
    return system if isinstance(system, str) else "".join(part["text"] for part in system)

"""Answers that take a server set up for them: limits, a shutdown, a published document, a script."""

import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.contract.bench import SEEN, Bench, CheckedClient, running, slug_of
from tests.contract.checking import drives, the_contract
from tests.contract.test_answers import stop
from tests.loopback_provider import Reply
from tests.serving import TOKEN, Server, say

LIMITED = """
max_concurrent_turns = 1
relay_provider_errors = false
stream_reattach_grace = "0s"
docs = true
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A server that runs one turn at a time, relays nothing, waits for nobody and publishes its document."""
    with running(tmp_path_factory.mktemp("limited"), LIMITED) as started:
        yield started


@drives(("submit_turn", 429, "concurrency-limit"))
def test_turns_past_the_limit_are_refused(limited: Bench) -> None:
    busy, other = limited.client.session(), limited.client.session()
    limited.upstream.add(Reply([], hang=True))
    assert limited.client.turn(busy, detach=True).status_code == 202
    refused = limited.client.turn(other)
    assert (refused.status_code, slug_of(refused)) == (429, "concurrency-limit")
    assert refused.headers["Retry-After"] == "1"
    assert slug_of(limited.client.turn(busy)) == "turn-in-flight"
    stop(limited, busy)
    assert limited.client.turn(other).status_code == 200


@drives(("submit_turn", 502, "provider"))
def test_nothing_of_the_provider_is_relayed_where_that_is_off(limited: Bench) -> None:
    limited.upstream.add([{"type": "fail_invalid_request", "message": "the account is acme's"}])
    answer = limited.client.turn(limited.client.session())
    assert answer.status_code == 502
    assert "acme" not in answer.text
    assert "provider_response" not in answer.json()


@drives(("get_openapi", 200))
def test_document_is_published_whole(limited: Bench) -> None:
    published = limited.client_with(None).call("GET", "/v1/openapi.json").json()
    assert published == the_contract().document.raw


SHORT_SCRIPT = [
    [
        {"type": "text", "text": "Half an"},
        {"type": "fail_retryable", "status": 429, "retry_after_secs": 7200, "message": "é" * 4000},
    ],
    [{"type": "message_end", "stop_reason": "refusal", "refusal_text": "I will not."}],
    [{"type": "text", "text": "cut"}, {"type": "message_end", "stop_reason": "max_tokens"}],
    [{"type": "notice", "level": "warn", "message": "mind the gap"}, *say("ok")],
    [{"type": "redacted_thinking", "data": "x"}],
    say("words"),
    [{"type": "text", "text": "waiting"}, {"type": "sleep", "ms": 60000}],
]


@drives(
    ("submit_turn", 502, "provider-unavailable"),
    ("submit_turn", 200),
)
def test_scripted_turns_end_as_their_provider_says(tmp_path: Path) -> None:
    """One server, because one script: failure past output, refusal, cut, advice, silence, shutdown."""
    with Server(tmp_path, rounds=SHORT_SCRIPT) as server:
        client = CheckedClient(server.base_url, TOKEN)
        with client.http:
            _check_retry_after(client)
            refused = client.turn(client.session()).json()
            assert (refused["stop_reason"], refused["refusal_text"]) == ("refusal", "I will not.")
            assert client.turn(client.session()).json()["stop_reason"] == "max_tokens"
            advised = client.turn(client.session()).json()
            assert advised["notices"] == [{"level": "warn", "text": "mind the gap"}]
            nudged = client.events(client.session())
            assert "turn.nudged" in [event.name for event in nudged]
        _check_shutdown(server)


def _check_retry_after(client: CheckedClient) -> None:
    """Text was told before the failure, so no attempt follows that would have to wait."""
    answer = client.turn(client.session())
    assert (answer.status_code, slug_of(answer)) == (502, "provider-unavailable")
    assert answer.headers["Retry-After"] == "3600"
    problem = answer.json()
    assert problem["retry_after"] == 3600
    assert problem["message_withdrawn"] is False
    assert len(problem["provider_response"].encode()) <= 4096
    assert problem["provider_response"].startswith("éé")
    assert not problem["provider_response"].endswith("é")


def _check_shutdown(server: Server) -> None:
    session_id = CheckedClient(server.base_url, TOKEN).session()
    with ThreadPoolExecutor(1) as pool:
        client = CheckedClient(server.base_url, TOKEN)
        events = pool.submit(client.events, session_id)
        other = CheckedClient(server.base_url, TOKEN)
        while not other.call("GET", f"/v1/sessions/{session_id}").json().get("last_turn"):
            pass
        assert server.stop() == 0
    canceled = events.result(10)[-1]
    assert (canceled.name, canceled.data["reason"]) == ("turn.canceled", "server_shutdown")


@drives(("submit_turn", 503, "shutting-down"))
def test_turn_that_arrives_during_the_drain_is_refused(tmp_path: Path) -> None:
    """Its head was read before the signal, its body comes after: an open request is still answered."""
    body = b'{"message": "x"}'
    with Server(tmp_path) as server:
        client = CheckedClient(server.base_url, TOKEN)
        with client.http:
            path = f"/v1/sessions/{client.session()}/turn"
        host, port = server.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                "Expect: 100-continue\r\n\r\n"
            )
            connection.sendall(head.encode())
            assert connection.recv(64).startswith(b"HTTP/1.1 100")
            server.process.send_signal(signal.SIGTERM)
            _wait_until_it_stops_listening(host, int(port))
            connection.sendall(body)
            answer = HTTPResponse(connection)
            answer.begin()
            raw = answer.read()
        assert server.process.wait(30) == 0
    seen = the_contract().check("POST", path, answer.status, answer.getheaders(), raw)
    assert seen is not None
    SEEN.add(seen)


def _wait_until_it_stops_listening(host: str, port: int) -> None:
    while True:
        try:
            socket.create_connection((host, port), timeout=30).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            """It was waiting to be accepted when the listener went."""


BARE = """
[serve]
[[serve.tokens]]
token = "${MEKA_TEST_TOKEN}"
scopes = ["sessions:r", "sessions:w"]
"""


@drives(("ready", 503), ("create_session", 422, "invalid-body"), ("list_profiles", 200))
def test_server_without_a_profile_serves_and_is_not_ready(tmp_path: Path) -> None:
    with Server(tmp_path, config=BARE) as server:
        client = CheckedClient(server.base_url, TOKEN)
        with client.http:
            ready = client.call("GET", "/v1/health/ready")
            assert ready.status_code == 503
            assert ready.json()["status"] == "degraded"
            assert (ready.json()["profile_configured"], ready.json()["session_db"]) == (False, True)
            assert client.call("POST", "/v1/sessions", json={}).status_code == 422
            assert client.call("GET", "/v1/profiles").json() == {"profiles": []}

"""Subscriptions over HTTP: the browser login, what it stores, the token presented and refreshed."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from meka.base.errors import ShuttingDownError
from meka.schema.operations import OPERATIONS
from meka.store import credentials
from meka.store.credentials import CredentialKind
from tests.contract.bench import Bench, slug_of
from tests.contract.checking import drives
from tests.contract.test_every_operation import app_that_fails, called
from tests.loopback_provider import Reply


class AuthorizationServer(ThreadingHTTPServer):
    """The token endpoint; `answers` are given in order, `grants` keeps what was posted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Endpoint)
        self.answers: list[tuple[int, Any]] = []
        self.grants: list[dict[str, str]] = []

    @property
    def token_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/oauth/token"


class _Endpoint(BaseHTTPRequestHandler):
    server: AuthorizationServer

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.grants.append({key: value[0] for key, value in form.items()})
        status, body = self.server.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def authority() -> Iterator[AuthorizationServer]:
    server = AuthorizationServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def tokens(name: str, seconds: int = 3600) -> tuple[int, dict[str, Any]]:
    return 200, {"access_token": name, "refresh_token": f"{name}-refresh", "expires_in": seconds}


@contextmanager
def subscription(
    bench: Bench, authority: AuthorizationServer, name: str, backend: str = "claude-subscription"
) -> Iterator[str]:
    body = {
        "name": name,
        "backend": backend,
        "base_url": bench.upstream.root,
        "oauth_token_url": authority.token_url,
        "client_id": "our-client",
    }
    answer = bench.client.call("POST", "/v1/accounts", json=body)
    assert (answer.status_code, answer.json()["authenticated"]) == (201, "no")
    yield f"/v1/accounts/{name}/login"


def begin(bench: Bench, path: str) -> tuple[dict[str, Any], dict[str, str]]:
    answer = bench.client.call("POST", path)
    assert answer.status_code == 202, answer.text
    query = parse_qs(urlsplit(answer.json()["authorization_url"]).query)
    return answer.json(), {key: value[0] for key, value in query.items()}


def complete(bench: Bench, path: str, begun: dict[str, Any], code: str) -> Any:
    return bench.client.call("POST", f"{path}/{begun['login_id']}", json={"code": code})


def where(bench: Bench, path: str, begun: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = bench.client.call("GET", f"{path}/{begun['login_id']}").json()
    return found


@drives(
    ("login_account", 202),
    ("get_account_login", 200),
    ("complete_account_login", 200),
    ("complete_account_login", 422, "invalid-body"),
)
def test_login_is_completed_by_the_code_under_its_verifier(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "pro") as path:
        begun, asked = begin(bench, path)
        assert (begun["completes_with"], begun["listening"]) == ("code", False)
        assert (asked["client_id"], asked["code_challenge_method"]) == ("our-client", "S256")
        for paste in ("", "code#another-state", "two words"):
            assert complete(bench, path, begun, paste).status_code == 422
        assert where(bench, path, begun)["status"] == "pending"
        authority.answers.append(tokens("first"))
        answer = complete(bench, path, begun, f" the-code#{asked['state']} ")
        assert answer.json()["authenticated"] == "yes"
        assert where(bench, path, begun)["status"] == "completed"
        grant = authority.grants[-1]
        digest = base64.urlsafe_b64encode(hashlib.sha256(grant["code_verifier"].encode()).digest())
        assert digest.rstrip(b"=").decode() == asked["code_challenge"]
        assert (grant["code"], grant["redirect_uri"]) == ("the-code", asked["redirect_uri"])
        assert complete(bench, path, begun, "again").status_code == 422


@drives(("complete_account_login", 502, "provider"), ("complete_account_login", 422, "invalid-body"))
def test_exchange_without_a_token_ends_the_login(bench: Bench, authority: AuthorizationServer) -> None:
    with subscription(bench, authority, "unlucky") as path:
        begun, _ = begin(bench, path)
        authority.answers.append((503, {"error": "secret reason"}))
        answer = complete(bench, path, begun, "code")
        assert (answer.status_code, slug_of(answer)) == (502, "provider")
        assert "secret reason" not in answer.text
        assert where(bench, path, begun)["status"] == "failed"
        begun, _ = begin(bench, path)
        authority.answers.append((400, {"error": "invalid_grant"}))
        assert complete(bench, path, begun, "code").status_code == 422
        assert where(bench, path, begun)["status"] == "failed"
        assert bench.client.call("GET", "/v1/accounts/unlucky").json()["authenticated"] == "no"


@drives(("get_account_login", 404, "not-found"), ("complete_account_login", 404, "not-found"))
def test_login_is_replaced_by_another_and_ended_by_a_rename(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "moving", "chatgpt-subscription") as path:
        first, asked = begin(bench, path)
        assert first["completes_with"] == "callback_url"
        assert asked["redirect_uri"] == "http://localhost:1455/auth/callback"
        second, _ = begin(bench, path)
        assert bench.client.call("GET", f"{path}/{first['login_id']}").status_code == 404
        stolen = f"http://localhost:1455/auth/callback?code=x&state={asked['state']}"
        assert complete(bench, path, second, stolen).status_code == 422
        assert complete(bench, path, second, "no-url").status_code == 422
        assert bench.client.call("PATCH", "/v1/accounts/moving", json={"name": "moved"}).status_code == 200
        assert where(bench, path, second)["status"] == "failed"
        assert complete(bench, "/v1/accounts/moved/login", second, stolen).status_code == 404


def test_account_changed_by_hand_during_its_login_gets_no_credential(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "edited") as path:
        begun, _ = begin(bench, path)
        file = bench.root / "config" / "config.toml"
        before = file.read_text()
        head, mark, tail = before.partition("[accounts.edited]")
        file.write_text(head + mark + tail.replace("our-client", "other-client", 1))
        authority.answers.append(tokens("unwanted"))
        assert complete(bench, path, begun, "code").status_code == 422
        file.write_text(before)
        assert bench.client.call("POST", "/v1/config/reload").status_code == 200
        assert bench.client.call("GET", "/v1/accounts/edited").json()["authenticated"] == "no"


@drives(("patch_account", 409, "account-in-use"))
def test_token_is_a_bearer_refreshed_once_and_its_account_stays_named(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "team"):
        soon = {"access_token": "old", "refresh_token": "r", "expires_at_ms": 1}
        bench.store.write(lambda tx: credentials.put(tx, "team", CredentialKind.OAUTH, soon))
        body = {"name": "team", "account": "team", "model": "m"}
        assert bench.client.call("POST", "/v1/profiles", json=body).status_code == 201
        session_id = bench.client.session(profile="team")
        authority.answers += [tokens("fresh"), tokens("fresher")]
        bench.upstream.requests.clear()
        assert bench.client.turn(session_id).status_code == 200
        bench.upstream.add(Reply(status=401, body={"error": {"message": "expired"}}))
        assert bench.client.turn(session_id).status_code == 200
        headers = [
            {key.lower(): value for key, value in each.headers.items()} for each in bench.upstream.requests
        ]
        presented = [each["authorization"] for each in headers]
        assert presented == ["Bearer fresh", "Bearer fresh", "Bearer fresher"]
        assert [grant["refresh_token"] for grant in authority.grants[-2:]] == ["r", "fresh-refresh"]
        assert not any("x-api-key" in each for each in headers)
        refused = bench.client.call("PATCH", "/v1/accounts/team", json={"name": "crew"})
        assert (refused.status_code, slug_of(refused)) == (409, "account-in-use")
        assert bench.client.call("DELETE", f"/v1/sessions/{session_id}").status_code == 204
        assert bench.client.call("PATCH", "/v1/accounts/team", json={"name": "crew"}).status_code == 200


def test_subscription_is_given_a_device_once_and_reasoning_as_its_profile_says(
    bench: Bench, authority: AuthorizationServer
) -> None:
    with subscription(bench, authority, "desk"):
        bundle = {"access_token": "token", "refresh_token": "r", "expires_at_ms": 32_503_680_000_000}
        bench.store.write(lambda tx: credentials.put(tx, "desk", CredentialKind.OAUTH, bundle))
        body = {"name": "desk", "account": "desk", "model": "m", "thinking_display": "redacted"}
        assert bench.client.call("POST", "/v1/profiles", json=body).status_code == 201
        before = (bench.root / "config" / "config.toml").read_text()
        sessions = [bench.client.session(profile="desk") for _ in range(2)]
        bench.upstream.requests.clear()
        for session_id in sessions:
            assert bench.client.turn(session_id).status_code == 200
        sent = [json.loads(each.body["metadata"]["user_id"]) for each in bench.upstream.requests]
        assert [each["session"] for each in sent] == sessions
        (device,) = {each["device"] for each in sent}
        assert len(bytes.fromhex(device)) == 32
        assert bench.client.call("GET", "/v1/accounts/desk").json()["device_id"] == device
        assert bench.client.call("GET", "/v1/config").json()["config_changed"] is False
        after = (bench.root / "config" / "config.toml").read_text()
        assert after.replace(f'device_id = "{device}"\n', "") == before
        assert [each.body["thinking"] for each in bench.upstream.requests] == [{"type": "adaptive"}] * 2


@drives(("login_account", 422, "invalid-body"))
def test_subscription_without_a_client_of_its_own_is_not_logged_in(bench: Bench) -> None:
    body = {"name": "bare", "backend": "claude-subscription"}
    assert bench.client.call("POST", "/v1/accounts", json=body).status_code == 201
    answer = bench.client.call("POST", "/v1/accounts/bare/login")
    assert "client_id" in answer.json()["detail"]
    assert bench.client.call("POST", "/v1/accounts/bare/login", json={"api_key": "k"}).status_code == 422


@drives(("login_account", 503, "shutting-down"))
def test_login_is_not_begun_while_the_server_shuts_down() -> None:
    error = ShuttingDownError("the server is shutting down")
    assert called(app_that_fails(error), OPERATIONS["login_account"])["status"] == 503

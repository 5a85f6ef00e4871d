"""Grants for browser clients of other origins."""

from collections.abc import Iterable
from typing import Any

import pytest
from werkzeug.test import Client

from meka.wire.cors import EXPOSED_HEADERS, METHODS, REQUEST_HEADERS, Cors

PAGE = "https://ui.example"
PREFLIGHT = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}


class App:
    """Refuses everyone, as the guard does, and counts what came to it."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.calls += 1
        start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer"), ("Vary", "Accept")])
        return [b"{}"]


@pytest.fixture
def app() -> App:
    return App()


def client(app: App, *origins: str) -> Client:
    return Client(Cors(app, origins))


def test_preflight_is_granted_without_running_anything(app: App) -> None:
    answer = client(app, PAGE).options("/v1/sessions", headers=PREFLIGHT)
    assert answer.status_code == 204
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert answer.headers["Access-Control-Allow-Methods"] == METHODS
    assert answer.headers["Access-Control-Allow-Headers"] == REQUEST_HEADERS
    assert answer.headers["Vary"] == "Origin"
    assert app.calls == 0


def test_errors_carry_the_grant_and_expose_what_page_script_reads(app: App) -> None:
    answer = client(app, PAGE).get("/v1/info", headers={"Origin": PAGE})
    assert answer.status_code == 401
    assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    assert answer.headers["Access-Control-Expose-Headers"] == EXPOSED_HEADERS
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert answer.headers.getlist("Vary") == ["Accept", "Origin"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://ui.example", "null", "https://UI.example"]
)
def test_other_origins_are_granted_nothing(app: App, origin: str) -> None:
    for answer in (
        client(app, PAGE).get("/", headers={"Origin": origin}),
        client(app, PAGE).options("/", headers=PREFLIGHT | {"Origin": origin}),
    ):
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "Access-Control-Allow-Headers" not in answer.headers
        assert answer.headers.getlist("Vary")[-1] == "Origin"


@pytest.mark.parametrize(
    "origin",
    [f"{PAGE}, {PAGE}", f"{PAGE}, https://evil.example", f"{PAGE}\r\nX-Forged: 1", PAGE + "x" * 30000],
)
def test_origin_that_is_none_of_the_allowed_ones_is_granted_nothing_and_not_repeated(origin: str) -> None:
    assert Cors(App(), [PAGE]).grant(origin) == [("Vary", "Origin")]


def test_any_origin_is_answered_with_the_literal_star(app: App) -> None:
    answer = client(app, "*").get("/", headers={"Origin": PAGE})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Vary"] == "Accept"


@pytest.mark.parametrize("headers", [{}, {"Origin": PAGE}])
def test_plain_options_is_no_preflight(app: App, headers: dict[str, str]) -> None:
    assert client(app, PAGE).options("/", headers=headers).status_code == 401


def test_nothing_is_added_where_no_origin_is_allowed(app: App) -> None:
    answer = client(app).options("/", headers=PREFLIGHT)
    assert app.calls == 1
    assert not any(name.startswith("Access-Control") for name in answer.headers.keys())  # noqa: SIM118

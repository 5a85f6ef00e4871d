"""Browser logins under a clock that a test moves: lapses, ends, the callback's listener."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import gevent
import pytest
import requests

from meka.base.clock import SystemClock
from meka.base.errors import (
    ConfigurationError,
    InvalidBodyError,
    MekaError,
    NotFoundError,
    ProviderFailedError,
    ShuttingDownError,
)
from meka.base.ids import RandomIds
from meka.bootstrap import Core
from meka.service.logins import LAPSE_SECONDS, Logins
from meka.store import credentials
from tests.fakes import FakeClock
from tests.unit.service.authority import Answer, Authority, tokens
from tests.unit.service.installing import CONFIG, config_of, installed


class House:
    """A program, its token endpoint and the clock of both."""

    def __init__(self, core: Core, authority: Authority, clock: FakeClock, root: Path) -> None:
        self.core = core
        self.authority = authority
        self.clock = clock
        self.file = config_of(root)
        self.port = free_port()
        self.logins = self.make_logins()

    def make_logins(self, **settings: Any) -> Logins:
        given: dict[str, Any] = {"clock": self.clock, "port": self.port, "installation": None, **settings}
        return Logins(
            given.pop("installation") or self.core.services.installation,
            self.core.database,
            given.pop("clock"),
            RandomIds(),
            lambda: False,
            **given,
        )

    def begin(self, name: str, logins: Logins | None = None) -> dict[str, Any]:
        account = self.core.in_force.config.accounts[name]
        return (logins or self.logins).begin(name, account)

    def status(self, name: str, begun: dict[str, Any]) -> dict[str, Any]:
        return self.logins.status(name, begun["login_id"])

    def complete(self, name: str, begun: dict[str, Any], pasted: str = "the-code") -> None:
        self.logins.complete(name, begun["login_id"], pasted)

    def stored(self, name: str) -> str | None:
        found = self.core.database.read(lambda tx: credentials.get(tx, name))
        return None if found is None else str(found.secret["access_token"])

    def callback(self, begun: dict[str, Any], **query: str) -> requests.Response:
        """What the browser does at the end, from a thread of its own."""
        asked = parse_qs(urlsplit(begun["authorization_url"]).query)
        address = f"http://127.0.0.1:{self.port}/auth/callback"

        def get() -> requests.Response:
            with requests.Session() as session:
                session.trust_env = False
                sent = {"code": "the-code", "state": asked["state"][0], **query}
                return session.get(address, params=sent, timeout=20)

        answer: requests.Response = gevent.get_hub().threadpool.apply(get)
        return answer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    clock = FakeClock()
    with Authority() as authority, installed(tmp_path, text_for(authority), clock) as core:
        house = House(core, authority, clock, tmp_path)
        yield house
        house.logins.close()


def text_for(authority: Authority) -> str:
    return CONFIG.format(token_url=authority.token_url)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_login_lapses_after_ten_minutes(house: House) -> None:
    begun = house.begin("pro")
    house.clock.advance(LAPSE_SECONDS - 1)
    assert house.status("pro", begun)["status"] == "pending"
    house.clock.advance(1)
    with pytest.raises(InvalidBodyError, match="lapsed"):
        house.complete("pro", begun)
    assert house.status("pro", begun) == {
        "login_id": begun["login_id"],
        "status": "failed",
        "error": "it lapsed",
        "expires_at": "2026-01-01T00:10:00Z",
    }
    assert house.authority.grants == []
    assert house.stored("pro") is None


def test_exchange_that_began_in_time_is_committed_past_the_lapse(house: House) -> None:
    begun = house.begin("pro")

    def grant_late() -> Answer:
        house.clock.advance(LAPSE_SECONDS)
        return tokens("late")

    house.authority.answers.append(grant_late)
    house.complete("pro", begun)
    assert house.status("pro", begun)["status"] == "completed"
    assert house.stored("pro") == "late"


def test_wrong_paste_leaves_the_login_pending_and_spends_no_code(house: House) -> None:
    begun = house.begin("gpt")
    for paste in ("", " ", "bare-code", "http://localhost:1455/auth/callback?state=x", "code#state"):
        with pytest.raises(InvalidBodyError):
            house.complete("gpt", begun, paste)
    assert house.status("gpt", begun)["status"] == "pending"
    assert house.authority.grants == []


def test_replaced_login_is_gone_and_its_listener_gives_way(house: House) -> None:
    first = house.begin("gpt")
    second = house.begin("gpt")
    assert (first["listening"], second["listening"]) == (True, True)
    with pytest.raises(NotFoundError):
        house.status("gpt", first)
    house.authority.answers.append(tokens("first"))
    assert house.callback(first).status_code == 400
    assert house.status("gpt", second)["status"] == "pending"
    assert house.callback(second).status_code == 200
    assert house.stored("gpt") == "first"


def test_callback_on_the_loopback_device_completes_the_login_and_frees_the_port(house: House) -> None:
    begun = house.begin("gpt")
    assert not is_free(house.port)
    house.authority.answers.append(tokens("by-browser"))
    answer = house.callback(begun)
    assert (answer.status_code, "logged in" in answer.text) == (200, True)
    assert house.stored("gpt") == "by-browser"
    assert house.status("gpt", begun)["status"] == "completed"
    assert is_free(house.port)


def test_login_does_not_listen_where_the_port_is_taken(house: House) -> None:
    with socket.create_server(("127.0.0.1", house.port)):
        begun = house.begin("gpt")
    assert begun["listening"] is False
    house.authority.answers.append(tokens("by-hand"))
    asked = parse_qs(urlsplit(begun["authorization_url"]).query)
    house.complete("gpt", begun, f"http://localhost:1455/auth/callback?code=c&state={asked['state'][0]}")
    assert house.stored("gpt") == "by-hand"


def test_listener_of_a_lapsed_login_goes_although_nobody_asks(house: House) -> None:
    logins = house.make_logins(clock=SystemClock(), lapse_seconds=0.01)
    assert house.begin("gpt", logins)["listening"] is True
    with gevent.Timeout(20):
        while not is_free(house.port):
            gevent.sleep(0.01)


@pytest.mark.parametrize(
    "answer", [(503, {"error": "upstream secret"}), (200, {"error": "upstream secret"}), (200, b"<html>")]
)
def test_endpoint_that_gives_no_token_ends_the_login_and_says_why_in_the_log_alone(
    house: House, caplog: pytest.LogCaptureFixture, answer: Answer
) -> None:
    begun = house.begin("pro")
    house.authority.answers.append(answer)
    with caplog.at_level(logging.WARNING), pytest.raises(ProviderFailedError) as caught:
        house.complete("pro", begun)
    assert str(answer[0]) not in caught.value.detail
    assert "token endpoint" in caplog.text
    assert "upstream secret" not in caplog.text + str(house.status("pro", begun))
    assert house.status("pro", begun)["status"] == "failed"
    with pytest.raises(InvalidBodyError):
        house.complete("pro", begun)
    assert len(house.authority.grants) == 1


def test_endpoint_that_is_not_there_ends_the_login(tmp_path: Path) -> None:
    text = CONFIG.format(token_url=f"http://127.0.0.1:{free_port()}/token")
    with Authority() as authority, installed(tmp_path, text) as core:
        house = House(core, authority, FakeClock(), tmp_path)
        begun = house.begin("pro")
        with pytest.raises(ProviderFailedError):
            house.complete("pro", begun)
        assert house.status("pro", begun)["status"] == "failed"


@pytest.mark.parametrize("removes", [True, False])
def test_removal_or_rename_ends_the_login(tmp_path: Path, removes: bool) -> None:
    with Authority() as authority, installed(tmp_path, text_for(authority)) as core:
        accounts = core.services.accounts
        begun = accounts.begin_login("gpt")
        assert begun is not None
        if removes:
            accounts.remove("gpt")
        else:
            accounts.rename("gpt", "other")
        status = accounts.login_status("gpt", begun["login_id"])
        assert status["status"] == "failed"
        assert ("removed" if removes else "renamed") in status["error"]
        assert authority.grants == []


def test_write_of_something_else_leaves_the_login_pending(house: House) -> None:
    begun = house.begin("pro")
    house.core.services.profiles.patch("main", {"model": "n"})
    house.authority.answers.append(tokens("kept"))
    house.complete("pro", begun)
    assert house.stored("pro") == "kept"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[accounts.gpt]", "[accounts.moved]"),
        ('subscription"\nclient_id = "ours"\n', 'subscription"\nclient_id = "theirs"\n'),
        ('backend = "chatgpt-subscription"', 'backend = "claude-subscription"'),
    ],
)  # fmt: skip
def test_account_that_a_shell_changes_during_the_exchange_gets_no_credential(
    house: House, old: str, new: str
) -> None:
    begun = house.begin("gpt")

    def edit_and_grant() -> Answer:
        text = house.file.read_text()
        assert old in text
        house.file.write_text(text.replace(old, new))
        return tokens("unwanted")

    house.authority.answers.append(edit_and_grant)
    assert house.callback(begun).status_code == 400
    assert house.status("gpt", begun)["status"] == "failed"
    assert house.core.database.read(credentials.list_names) == []


def test_login_that_is_replaced_during_its_exchange_stores_nothing(house: House) -> None:
    begun = house.begin("pro")

    def replace_and_grant() -> Answer:
        house.logins.end("pro", "another login was begun")
        return tokens("unwanted")

    house.authority.answers.append(replace_and_grant)
    with pytest.raises(ConfigurationError, match="another login was begun"):
        house.complete("pro", begun)
    assert house.status("pro", begun)["error"] == "another login was begun"
    assert house.stored("pro") is None


class Unservable:
    """An installation whose file a shell breaks right after each write."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @contextmanager
    def editing(self) -> Iterator[Any]:
        with self._core.services.installation.editing() as draft:
            yield draft

    def serve_written(self) -> None:
        raise ConfigurationError("the change is written and not served: broken")


def test_login_whose_credential_is_stored_is_completed_although_it_is_not_served(house: House) -> None:
    house.logins = house.make_logins(installation=Unservable(house.core))
    begun = house.begin("pro")
    house.authority.answers.append(tokens("stored"))
    with pytest.raises(ConfigurationError, match="not served"):
        house.complete("pro", begun)
    assert house.status("pro", begun)["status"] == "completed"
    assert house.stored("pro") == "stored"


def test_shutdown_ends_what_is_pending_and_begins_nothing_more(house: House) -> None:
    begun = house.begin("gpt")
    house.logins.close()
    assert is_free(house.port)
    assert "shutting down" in house.status("gpt", begun)["error"]
    with pytest.raises(MekaError):
        house.complete("gpt", begun)
    with pytest.raises(ShuttingDownError):
        house.begin("gpt")

"""Tokens of subscriptions: refreshed ahead of their end, once for all who ask, in every process."""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import pytest

from meka.agent.providers.base import Cause, ProviderError
from meka.base.clock import Clock
from meka.service.access_tokens import REFRESH_AHEAD_SECONDS, AccessTokens
from meka.service.oauth import Client
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database
from meka.store.locks import FileLock
from tests.fakes import FakeClock
from tests.unit.service.authority import Answer, Authority, tokens

HOUR_MS = 3_600_000


class Process:
    """A process of the installation, as far as tokens go."""

    def __init__(self, root: Path, authority: Authority, clock: Clock) -> None:
        self.database = Database.open(root / "meka.db", clock=clock)
        self.clock = clock
        client = Client("ours", "", authority.token_url, "", "", "code")
        self.tokens = AccessTokens(self.database, root / "locks", clock)
        self.ask: Callable[[str | None], str] = self.tokens.source("pro", client)

    def put(self, access: str, seconds_left: float) -> None:
        expires = int((self.clock.now().timestamp() + seconds_left) * 1000)
        bundle: dict[str, Any] = {"access_token": access, "refresh_token": "r", "expires_at_ms": expires}
        self.database.write(lambda tx: credentials.put(tx, "pro", CredentialKind.OAUTH, bundle))

    def stored(self) -> dict[str, Any]:
        found = self.database.read(lambda tx: credentials.get(tx, "pro"))
        assert found is not None
        return dict(found.secret)


def run(root: Path, authority: Authority, work: Callable[[Process], Any], seconds_left: float = -1) -> Any:
    """`work` in one process, on a stored token with so long to live."""
    process = Process(root, authority, FakeClock())
    try:
        process.put("old", seconds_left)
        return work(process)
    finally:
        process.database.close()


@pytest.mark.parametrize(("ahead", "expected"), [(1, "old"), (-1, "fresh")])
def test_token_is_refreshed_five_minutes_ahead(tmp_path: Path, ahead: int, expected: str) -> None:
    with Authority(tokens("fresh")) as authority:
        seconds = REFRESH_AHEAD_SECONDS + ahead
        assert run(tmp_path, authority, lambda process: process.ask(None), seconds) == expected
        assert len(authority.grants) == (expected == "fresh")


def test_refresh_keeps_a_refresh_token_that_is_not_renewed_and_assumes_an_hour(tmp_path: Path) -> None:
    def work(process: Process) -> None:
        assert process.ask(None) == "fresh"
        now_ms = int(process.clock.now().timestamp() * 1000)
        assert process.stored() == {
            "access_token": "fresh", "refresh_token": "r", "expires_at_ms": now_ms + HOUR_MS,
        }  # fmt: skip

    with Authority((200, {"access_token": "fresh"})) as authority:
        run(tmp_path, authority, work)
    assert authority.grants == [{"grant_type": "refresh_token", "refresh_token": "r", "client_id": "ours"}]


def test_refused_token_is_replaced_once_for_everybody_who_held_it(tmp_path: Path) -> None:
    def work(process: Process) -> list[str]:
        asking = [gevent.spawn(process.ask, "old") for _ in range(3)]
        return [str(each.get(timeout=30)) for each in asking]

    with Authority(tokens("fresh")) as authority:
        assert run(tmp_path, authority, work, 3600) == ["fresh"] * 3
    assert len(authority.grants) == 1


def test_two_processes_refresh_one_credential_once(tmp_path: Path) -> None:
    """The second asks while the endpoint still thinks about the first."""
    first_is_asking, second_asks = threading.Event(), threading.Event()

    def grant_once_both_ask() -> Answer:
        first_is_asking.set()
        assert second_asks.wait(30)
        return tokens("fresh")

    got: dict[str, str] = {}

    def run_process(name: str, before: Callable[[], object]) -> None:
        process = Process(tmp_path, authority, FakeClock())
        try:
            before()
            got[name] = process.ask(None)
        finally:
            process.database.close()
            gevent.get_hub().destroy()

    def wait_for_first() -> None:
        assert first_is_asking.wait(30)
        second_asks.set()

    with Authority(grant_once_both_ask) as authority:
        run(tmp_path, authority, lambda _process: None)
        processes = [
            threading.Thread(target=run_process, args=("first", lambda: None)),
            threading.Thread(target=run_process, args=("second", wait_for_first)),
        ]
        for each in processes:
            each.start()
        for each in processes:
            each.join(60)
    assert got == {"first": "fresh", "second": "fresh"}
    assert len(authority.grants) == 1


def test_who_asks_and_is_killed_leaves_the_refresh_to_end(tmp_path: Path) -> None:
    """Once the endpoint has answered, its answer is the only copy of the next refresh token."""
    name = hashlib.sha256(b"pro").hexdigest()[:16]

    def work(process: Process) -> None:
        assert process.tokens.drain(0)
        lock = FileLock.try_acquire(tmp_path / "locks" / f"oauth_{name}.lock")
        assert lock is not None
        asker = gevent.spawn(process.ask, None)
        gevent.sleep(0.02)
        asker.kill()
        assert not process.tokens.drain(0.01)
        lock.release()
        assert process.tokens.drain(30)
        assert process.stored()["refresh_token"] == "fresh-refresh"

    with Authority(tokens("fresh")) as authority:
        run(tmp_path, authority, work)


def test_login_that_lands_during_a_refresh_stands(tmp_path: Path) -> None:
    def log_in_and_grant() -> Answer:
        other = Database.open(tmp_path / "meka.db", clock=FakeClock())
        bundle = {"access_token": "by-login", "refresh_token": "x", "expires_at_ms": 10**15}
        other.write(lambda tx: credentials.put(tx, "pro", CredentialKind.OAUTH, bundle))
        other.close()
        gevent.get_hub().destroy()
        return tokens("by-refresh")

    with Authority(log_in_and_grant) as authority:
        assert run(tmp_path, authority, lambda process: process.ask(None)) == "by-login"


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ((400, {"error": "invalid_grant"}), Cause.CREDENTIAL),
        ((429, {}), Cause.TRANSIENT),
        ((503, {}), Cause.TRANSIENT),
        ((200, {"token": "of another kind"}), Cause.TRANSIENT),
    ],
)
def test_refresh_that_fails_is_a_credentials_failure_only_when_it_is_refused(
    tmp_path: Path, answer: Answer, cause: Cause
) -> None:
    def work(process: Process) -> None:
        with pytest.raises(ProviderError) as caught:
            process.ask(None)
        assert caught.value.cause is cause
        assert process.stored()["access_token"] == "old"

    with Authority(answer) as authority:
        run(tmp_path, authority, work)


def test_account_without_a_login_is_a_credentials_failure(tmp_path: Path) -> None:
    def work(process: Process) -> None:
        process.database.write(lambda tx: credentials.delete(tx, "pro"))
        with pytest.raises(ProviderError) as caught:
            process.ask(None)
        assert caught.value.cause is Cause.CREDENTIAL

    with Authority() as authority:
        run(tmp_path, authority, work)

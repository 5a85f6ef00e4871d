"""What becomes of an item after a bad end: the backoff, the ceiling, and what an item keeps of the error."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from meka.base.clock import rfc3339
from meka.base.errors import MekaError, ProviderUnavailableError, SessionLockedError, StoreUnavailableError
from meka.service.fates import Fate, fail_item, retry_seconds, wait_for_holder
from meka.store import inbox
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from tests.fakes import FakeClock
from tests.unit.store.support import new_session

SESSION = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def database(tmp_path: Path, clock: FakeClock) -> Iterator[Database]:
    with Database.open(tmp_path / "meka.db", clock=clock) as opened:
        opened.write(lambda tx: new_session(tx, SESSION))
        yield opened


@pytest.fixture
def item(database: Database, clock: FakeClock) -> InboxRow:
    now = clock.now()
    row = InboxRow("item", SESSION, "steer", "hi", ItemState.PENDING, now, now + timedelta(hours=1))
    return database.write(lambda tx: inbox.add(tx, row))


def stored(database: Database) -> InboxRow:
    row = database.read(lambda tx: inbox.get(tx, SESSION, "item"))
    assert row is not None
    return row


def outage(back_in_seconds: int | None = None) -> MekaError:
    error = ProviderUnavailableError("the model provider is away", provider_response="a secret")
    error.may_pass = True
    error.back_in_seconds = back_in_seconds
    return error


def test_wait_doubles_from_ten_seconds_up_to_five_minutes() -> None:
    waits = [retry_seconds(attempts, outage()) for attempts in range(8)]
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]
    assert retry_seconds(10_000, outage()) == 300


@pytest.mark.parametrize(
    ("attempts", "stated", "expected"), [(0, 3, 3), (0, 60, 10), (9, 299, 299), (9, 301, 300), (0, 0, 1)]
)
def test_stated_time_shortens_the_wait_and_never_lengthens_it(
    attempts: int, stated: int, expected: int
) -> None:
    assert retry_seconds(attempts, outage(stated)) == expected


def test_busy_store_waits_like_any_failure() -> None:
    assert retry_seconds(0, StoreUnavailableError()) == 10


def test_failure_that_may_pass_defers_until_the_ceiling(
    database: Database, clock: FakeClock, item: InboxRow
) -> None:
    began, fates, row = clock.now(), [], item
    while True:
        failed = row
        fate: Fate = database.write(lambda tx, each=failed: fail_item(tx, each, outage(), clock.now()))
        row = stored(database)
        if row.state is not ItemState.PENDING:
            break
        fates.append(fate)
        assert row.not_before is not None
        assert fate.payload["not_before"] == rfc3339(row.not_before)
        clock.advance((row.not_before - clock.now()).total_seconds())
    assert {each.event for each in fates} == {"inbox.deferred"}
    assert clock.now() == began + timedelta(hours=1)
    assert row.state is ItemState.WITHDRAWN
    assert fate.event == "inbox.failed"
    assert fate.payload["reason"] == row.failure
    assert row.attempts == len(fates)


def test_error_is_kept_without_the_upstreams_text_and_published_with_it(
    database: Database, clock: FakeClock, item: InboxRow
) -> None:
    fate = database.write(lambda tx: fail_item(tx, item, outage(), clock.now()))
    assert fate.payload["error"]["provider_response"] == "a secret"
    assert set(stored(database).last_error or ()) == {"type", "title", "status", "detail"}


def test_failure_that_will_not_pass_gives_up_at_once(
    database: Database, clock: FakeClock, item: InboxRow
) -> None:
    fate = database.write(lambda tx: fail_item(tx, item, MekaError("no"), clock.now()))
    assert (fate.event, stored(database).state) == ("inbox.failed", ItemState.WITHDRAWN)


def test_ceiling_of_nothing_gives_up_at_the_first_failure(
    database: Database, clock: FakeClock, item: InboxRow
) -> None:
    hurried = replace(item, retry_until=item.created_at)
    fate = database.write(lambda tx: fail_item(tx, hurried, outage(), clock.now()))
    assert fate.event == "inbox.failed"


def test_wait_for_another_process_is_no_attempt_but_counts_toward_the_ceiling(
    database: Database, clock: FakeClock, item: InboxRow
) -> None:
    held = SessionLockedError(SESSION)
    waits = 0
    while database.write(lambda tx: wait_for_holder(tx, item, held, clock.now())) is None:
        row = stored(database)
        assert row.not_before == clock.now() + timedelta(seconds=10)
        assert row.attempts == 0
        assert (row.last_error or {})["type"].endswith("/session-locked")
        clock.advance(10)
        waits += 1
    assert waits == 360
    assert stored(database).state is ItemState.WITHDRAWN

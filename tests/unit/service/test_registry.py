"""Sessions in memory: loaded once, under their lock, with ids above every one before."""

from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from meka.base.errors import SessionLockedError, SessionNotFoundError
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.store import inbox, sessions
from meka.store.database import Database
from meka.store.inbox import InboxRow
from meka.store.locks import SessionLocks
from tests.fakes import FakeClock
from tests.unit.service.support import MOMENT, SESSION


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def database(tmp_path: Path, clock: FakeClock) -> Iterator[Database]:
    opened = Database.open(tmp_path / "meka.db", clock=clock)
    opened.write(
        lambda tx: sessions.create(
            tx, SESSION, working_directory="/", permission="read", approvals=False, profile="p"
        )
    )
    yield opened
    opened.close()


@pytest.fixture
def registry(tmp_path: Path, database: Database, clock: FakeClock) -> Iterator[Registry]:
    made = make_registry(tmp_path, database, clock)
    yield made
    for runtime in made.all():
        made.unload(runtime)


def make_registry(tmp_path: Path, database: Database, clock: FakeClock) -> Registry:
    return Registry(
        database,
        SessionLocks(tmp_path / "locks"),
        clock,
        replay_events=256,
        build_prompt=lambda _row: "",
        admit_level=lambda row: row,
    )


def test_session_is_loaded_once_however_many_ask(registry: Registry) -> None:
    loads = [gevent.spawn(registry.load, SESSION) for _ in range(8)]
    found = {id(load.get(timeout=10)) for load in loads}
    assert len(found) == 1
    assert registry.get(SESSION) is not None


def test_many_that_wait_for_a_load_that_fails_are_each_refused(
    tmp_path: Path, database: Database, clock: FakeClock, registry: Registry
) -> None:
    holder = make_registry(tmp_path, database, clock)
    held = holder.load(SESSION)
    loads = [gevent.spawn(attempt, registry) for _ in range(5)]
    assert [load.get(timeout=10) for load in loads] == [None] * 5
    holder.unload(held)
    assert registry.load(SESSION).id == SESSION


def attempt(registry: Registry) -> SessionRuntime | None:
    try:
        return registry.load(SESSION)
    except SessionLockedError:
        return None


def test_unknown_session_is_not_found(registry: Registry) -> None:
    with pytest.raises(SessionNotFoundError):
        registry.load("00000000-0000-4000-8000-000000000099")


def test_items_that_no_provider_accepted_are_known_to_whoever_finds_the_session_loaded(
    database: Database, registry: Registry
) -> None:
    item = InboxRow(
        id="00000000-0000-4000-8000-000000000077",
        session_id=SESSION,
        class_="steer",
        message="a",
        state=inbox.ItemState.PENDING,
        created_at=MOMENT,
        retry_until=MOMENT,
    )
    database.write(lambda tx: (inbox.add(tx, item), inbox.mark_appended(tx, [item.id], 1)))
    seen: list[set[str]] = []
    registry.on_adopt.append(lambda runtime: gevent.spawn(lambda: seen.append(set(runtime.taken))))
    registry.load(SESSION)
    gevent.sleep(0)
    assert seen == [{item.id}]


@pytest.mark.parametrize("seconds", [0, -3600, 3600])
def test_ids_after_a_load_are_above_every_id_before_whatever_the_clock_does(
    registry: Registry, clock: FakeClock, seconds: int
) -> None:
    runtime = registry.load(SESSION)
    assert runtime.feed.first_id == int(clock.now().timestamp() * 1_000_000)
    for _ in range(3):
        last = runtime.emit("notice", {"text": "a"}, None)
    registry.unload(runtime)
    clock.advance(seconds)
    again = registry.load(SESSION).feed.first_id
    assert again > (last or 0)
    assert again >= int(clock.now().timestamp() * 1_000_000)

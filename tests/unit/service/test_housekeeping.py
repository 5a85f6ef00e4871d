"""Housekeeping: what idles leaves memory, what is old leaves the disk, and what is in use stays."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from meka.base.errors import SessionLockedError
from meka.service.housekeeping import HousekeepingSettings, IdleEviction, StartupSweep
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.store import inbox, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from meka.store.locks import SessionLocks
from tests.fakes import FakeClock, run_inline
from tests.unit.store.support import new_session

HOUR = 3600.0
DAY = 24 * HOUR
SETTINGS = HousekeepingSettings(
    idle_seconds=DAY, scan_seconds=300.0, delete_on_idle=False, retention_seconds=30 * DAY
)


@dataclass(eq=False)
class FakeRuntime:
    """What housekeeping looks at of a session in memory."""

    id: str
    last_used: float = 0.0
    parent_id: str | None = None
    slot: object | None = None
    keepers: int = 0
    parked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def row(self) -> Any:
        return SimpleNamespace(parent_id=self.parent_id)


class FakeRegistry:
    def __init__(self) -> None:
        self.resident: dict[str, FakeRuntime] = {}

    def add(self, session_id: str, **state: Any) -> FakeRuntime:
        self.resident[session_id] = FakeRuntime(session_id, **state)
        return self.resident[session_id]

    def all(self) -> tuple[SessionRuntime, ...]:
        return cast("tuple[SessionRuntime, ...]", tuple(self.resident.values()))

    def get(self, session_id: str) -> SessionRuntime | None:
        return cast("SessionRuntime | None", self.resident.get(session_id))

    def unload(self, runtime: SessionRuntime) -> None:
        del self.resident[runtime.id]


class FakeStop:
    """Set after a number of waits, which move the clock."""

    def __init__(self, clock: FakeClock, waits: int) -> None:
        self._clock = clock
        self.left = waits

    def wait(self, timeout: float) -> bool:
        self._clock.advance(timeout)
        self.left -= 1
        return self.left < 0


@dataclass
class House:
    """An eviction with all that it is handed; `deleted` are the sessions it deleted."""

    database: Database
    clock: FakeClock
    registry: FakeRegistry = field(default_factory=FakeRegistry)
    tasks: set[str] = field(default_factory=set)
    deleted: list[str] = field(default_factory=list)
    refuses: frozenset[str] = frozenset()

    def eviction(self, **settings: Any) -> IdleEviction:
        return IdleEviction(
            self.database,
            self.registry,
            self._delete,
            self.tasks.__contains__,
            self.clock,
            replace(SETTINGS, **settings),
        )

    def _delete(self, session_id: str) -> None:
        if session_id in self.refuses:
            raise SessionLockedError(session_id)
        self.deleted.append(session_id)
        del self.registry.resident[session_id]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def database(tmp_path: Path, clock: FakeClock) -> Iterator[Database]:
    with Database.open(tmp_path / "meka.db", clock=clock) as opened:
        yield opened


@pytest.fixture
def house(database: Database, clock: FakeClock) -> House:
    return House(database, clock)


@pytest.fixture
def locks(tmp_path: Path) -> SessionLocks:
    return SessionLocks(tmp_path / "locks")


def add_item(tx: Tx, session_id: str, state: ItemState = ItemState.PENDING) -> None:
    inbox.add(
        tx,
        InboxRow(
            id=f"item-{session_id}",
            session_id=session_id,
            class_="steer",
            message="hello",
            state=state,
            created_at=tx.now(),
            retry_until=tx.now(),
        ),
    )


def all_ids(database: Database) -> set[str]:
    return database.read(sessions.all_ids)


def test_session_is_evicted_once_it_was_idle_for_long_enough(house: House) -> None:
    house.registry.add("old")
    house.registry.add("new", last_used=HOUR)
    eviction = house.eviction()
    house.clock.advance(DAY - 1)
    eviction.scan()
    assert set(house.registry.resident) == {"old", "new"}
    house.clock.advance(1)
    eviction.scan()
    assert set(house.registry.resident) == {"new"}
    assert house.deleted == []


@pytest.mark.parametrize("state", [{"slot": object()}, {"keepers": 1}, {"parked": {"r": object()}}])
def test_session_in_use_stays_and_idles_from_then_on(house: House, state: dict[str, Any]) -> None:
    runtime = house.registry.add("s", **state)
    eviction = house.eviction()
    house.clock.advance(2 * DAY)
    eviction.scan()
    runtime.slot, runtime.keepers, runtime.parked = None, 0, {}
    house.clock.advance(DAY - 1)
    eviction.scan()
    assert "s" in house.registry.resident
    house.clock.advance(1)
    eviction.scan()
    assert "s" not in house.registry.resident


def test_session_with_a_background_task_stays(house: House) -> None:
    house.registry.add("s")
    house.tasks.add("s")
    house.clock.advance(2 * DAY)
    house.eviction().scan()
    assert "s" in house.registry.resident


def test_run_scans_at_each_interval_until_it_is_stopped(house: House) -> None:
    house.registry.add("s")
    stop = FakeStop(house.clock, waits=3)
    house.eviction(idle_seconds=900.0).run(stop)
    assert house.clock.monotonic() == 4 * 300.0
    assert house.registry.resident == {}


def test_run_is_over_at_once_when_eviction_is_off(house: House) -> None:
    house.registry.add("s")
    stop = FakeStop(house.clock, waits=3)
    house.eviction(idle_seconds=0.0).run(stop)
    assert (stop.left, set(house.registry.resident)) == (3, {"s"})


def test_idle_session_is_deleted_where_that_is_asked_for(house: House) -> None:
    house.registry.add("s")
    house.clock.advance(DAY)
    house.eviction(delete_on_idle=True).scan()
    assert house.deleted == ["s"]


def test_idle_sub_agent_is_unloaded_and_left_to_its_tree(house: House) -> None:
    house.registry.add("child", parent_id="parent")
    house.clock.advance(DAY)
    house.eviction(delete_on_idle=True).scan()
    assert (house.deleted, house.registry.resident) == ([], {})


@pytest.mark.parametrize("state", [ItemState.PENDING, ItemState.APPENDED])
def test_idle_session_keeps_its_row_while_a_message_waits(house: House, state: ItemState) -> None:
    def fill(tx: Tx) -> None:
        new_session(tx, "s")
        add_item(tx, "s", state)

    house.database.write(fill)
    house.registry.add("s")
    house.clock.advance(DAY)
    house.eviction(delete_on_idle=True).scan()
    assert (house.deleted, house.registry.resident) == ([], {})


def test_idle_session_that_cannot_be_deleted_does_not_keep_the_next_one(house: House) -> None:
    house.refuses = frozenset({"locked"})
    house.registry.add("locked")
    house.registry.add("free")
    house.clock.advance(DAY)
    house.eviction(delete_on_idle=True).scan()
    assert (house.deleted, set(house.registry.resident)) == (["free"], {"locked"})


class BusyOnSecondLook(FakeRegistry):
    """A turn takes the session's slot while the store is read."""

    def get(self, session_id: str) -> SessionRuntime | None:
        self.resident[session_id].slot = object()
        return super().get(session_id)


def test_session_that_is_used_meanwhile_stays(house: House) -> None:
    house.registry = BusyOnSecondLook()
    house.registry.add("s")
    house.clock.advance(DAY)
    house.eviction(delete_on_idle=True).scan()
    assert (house.deleted, set(house.registry.resident)) == ([], {"s"})


def test_eviction_ends_the_feed_of_who_only_reads_and_frees_the_lock(
    database: Database, locks: SessionLocks, clock: FakeClock
) -> None:
    database.write(lambda tx: new_session(tx, "s"))
    registry = Registry(
        database, locks, clock, replay_events=8, build_prompt=lambda row: "", admit_level=lambda row: row
    )
    runtime = registry.load("s")
    reader = runtime.feed.attach(runtime.feed.live())
    eviction = IdleEviction(database, registry, lambda _: None, lambda _: False, clock, SETTINGS)
    clock.advance(DAY)
    eviction.scan()
    assert registry.get("s") is None
    assert reader.next_frames(0.0) is None
    assert locks.try_acquire("s") is not None
    assert all_ids(database) == {"s"}


def make_sweep(database: Database, locks: SessionLocks, clock: FakeClock, **settings: Any) -> StartupSweep:
    return StartupSweep(database, locks, clock, run_inline, replace(SETTINGS, **settings))


def test_retention_deletes_old_trees_alone(database: Database, locks: SessionLocks, clock: FakeClock) -> None:
    database.write(lambda tx: (new_session(tx, "old"), new_session(tx, "child", parent_id="old")))
    clock.advance(30 * DAY)
    database.write(lambda tx: (new_session(tx, "new"), new_session(tx, "late", parent_id="new")))
    sweep = make_sweep(database, locks, clock)
    assert sweep.sweep_sessions() == 0
    clock.advance(1)
    assert sweep.sweep_sessions() == 1
    assert all_ids(database) == {"new", "late"}


def test_retention_keeps_all_when_none_is_set(
    database: Database, locks: SessionLocks, clock: FakeClock
) -> None:
    database.write(lambda tx: new_session(tx, "old"))
    clock.advance(1000 * DAY)
    assert make_sweep(database, locks, clock, retention_seconds=None).sweep_sessions() == 0
    assert all_ids(database) == {"old"}


def test_retention_spares_pinned_locked_and_waiting_trees(
    database: Database, locks: SessionLocks, clock: FakeClock
) -> None:
    def fill(tx: Tx) -> None:
        for name in ("pinned", "locked", "waiting", "old"):
            new_session(tx, name)
            new_session(tx, f"{name}-child", parent_id=name)
        sessions.update(tx, "pinned", touch=False, pinned_at=tx.now())
        add_item(tx, "waiting-child")

    database.write(fill)
    clock.advance(31 * DAY)
    held = locks.try_acquire("locked-child")
    assert held is not None
    assert make_sweep(database, locks, clock).sweep_sessions() == 1
    held.release()
    kept = ("pinned", "locked", "waiting")
    assert all_ids(database) == {*kept, *(f"{name}-child" for name in kept)}


def test_retention_lets_the_locks_of_what_it_spares_go(
    database: Database, locks: SessionLocks, clock: FakeClock
) -> None:
    database.write(lambda tx: (new_session(tx, "waiting"), add_item(tx, "waiting")))
    clock.advance(31 * DAY)
    make_sweep(database, locks, clock).run()
    assert locks.try_acquire("waiting") is not None


def test_sweep_removes_the_lock_files_of_sessions_that_are_gone(
    database: Database, locks: SessionLocks, clock: FakeClock, tmp_path: Path
) -> None:
    database.write(lambda tx: (new_session(tx, "here"), new_session(tx, "old")))
    for name in ("here", "gone", "old"):
        lock = locks.try_acquire(name)
        assert lock is not None
        lock.release()
    clock.advance(31 * DAY)
    database.write(lambda tx: sessions.update(tx, "here", touch=True, profile="other"))
    sweep = make_sweep(database, locks, clock)
    sweep.run()
    sweep.run_beside()
    assert {path.stem for path in (tmp_path / "locks").glob("*.lock")} == {"here", "schema"}


def test_sweep_that_finds_the_store_busy_is_cut_short(
    database: Database, locks: SessionLocks, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(*_: Any) -> None:
        raise SessionLockedError("s")

    StartupSweep(database, locks, clock, busy, SETTINGS).run_beside()
    assert "cut short" in caplog.text

"""The dispatcher: who opens a turn, what it waits for, and that no fault strands an item."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest
from gevent.event import AsyncResult, Event

from meka.base.errors import (
    ConcurrencyLimitError,
    ConfigurationError,
    MekaError,
    SessionLockedError,
    StoreUnavailableError,
    TurnInFlightError,
)
from meka.service.dispatch import Dispatcher
from meka.service.fates import Fate
from meka.store import inbox, tasks, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from meka.store.tasks import TaskStatus
from tests.fakes import FakeClock
from tests.unit.store.support import new_session

SESSION = "00000000-0000-4000-8000-000000000001"
WAIT = 10.0


class World:
    """A store, and a registry and turns that do as they are told. A turn that opens reads all that waits."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.loads: list[MekaError | None] = []
        self.openings: list[Exception | None] = []
        self.opened: list[bool] = []
        self.loaded = 0
        self.ends = Event()
        self.ends.set()
        self.changed = Event()
        self.runtime = SimpleNamespace(id=SESSION, slot=None, freed=Event())
        self.fates: list[Fate] = []
        self.on_load: Callable[[], Any] = lambda: None
        self.dispatcher = Dispatcher(database, self, self, clock)  # type: ignore[arg-type]
        self.dispatcher.announce = lambda _session, fate: self.fates.append(fate)

    def load(self, _session_id: str) -> Any:
        self.loaded += 1
        self.changed.set()
        error = self.loads.pop(0) if self.loads else None
        if error is not None:
            raise error
        self.on_load()
        return self.runtime

    def get(self, _session_id: str) -> Any:
        return self.runtime if self.loaded else None

    def open_autonomous(self, _runtime: Any, *, for_items: bool) -> Any:
        error = self.openings.pop(0) if self.openings else None
        if error is not None:
            raise error
        self.database.write(self._read_all)
        self.opened.append(for_items)
        done = AsyncResult()
        gevent.spawn(lambda: (self.ends.wait(WAIT), done.set(None)))
        self.changed.set()
        return SimpleNamespace(done=done)

    def _read_all(self, tx: Tx) -> None:
        ids = [item.id for item in inbox.pending(tx, SESSION)]
        inbox.mark_appended(tx, ids, None)
        inbox.mark_delivered(tx, ids)
        tasks.mark_reported(tx, [task.id for task in tasks.unreported(tx, SESSION)])

    def wait_for_place(self, _seconds: float) -> None:
        gevent.sleep(0)

    def add(self, item_id: str = "item", **fields: Any) -> None:
        now = self.clock.now()
        row = InboxRow(
            item_id, SESSION, "steer", "hi", ItemState.PENDING, now, now + timedelta(hours=1), **fields
        )
        self.database.write(lambda tx: inbox.add(tx, row))

    def item(self, item_id: str = "item") -> InboxRow:
        row = self.database.read(lambda tx: inbox.get(tx, SESSION, item_id))
        assert row is not None
        return row

    def until(self, condition: Callable[[], bool]) -> None:
        with gevent.Timeout(WAIT):
            while not condition():
                gevent.sleep(0.005)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = FakeClock()
    with Database.open(tmp_path / "meka.db", clock=clock) as database:
        database.write(lambda tx: new_session(tx, SESSION))
        made = World(database, clock)
        yield made
        made.ends.set()
        made.dispatcher.stop()


def test_item_opens_a_turn_and_nothing_is_left_running(world: World) -> None:
    world.add()
    world.dispatcher.poke(SESSION)
    world.until(lambda: not world.dispatcher._pumps)
    assert world.opened == [True]
    assert world.item().state is ItemState.DELIVERED


def test_start_takes_up_what_an_earlier_process_left(world: World) -> None:
    world.add()
    world.dispatcher.start()
    world.until(lambda: world.opened == [True])


def test_deferred_item_waits_for_its_time(world: World) -> None:
    world.add(not_before=world.clock.now() + timedelta(minutes=5))
    world.dispatcher.start()
    gevent.sleep(0.05)
    assert world.opened == []
    world.clock.advance(301)
    world.dispatcher.poke(SESSION)
    world.until(lambda: world.opened == [True])


def test_session_held_elsewhere_is_asked_for_every_ten_seconds_until_its_holder_lets_go(world: World) -> None:
    world.add()
    world.loads = [SessionLockedError(SESSION)] * 3
    world.dispatcher.start()
    for attempt in range(1, 4):
        again = world.clock.now() + timedelta(seconds=10)
        world.until(lambda moment=again: world.item().not_before == moment)
        assert world.loaded == attempt
        assert (world.item().last_error or {})["type"].endswith("/session-locked")
        world.dispatcher.poke(SESSION)
        gevent.sleep(0.02)
        assert world.loaded == attempt
        world.clock.advance(10)
        world.dispatcher.poke(SESSION)
    world.until(lambda: world.opened == [True])
    assert world.item().attempts == 0


@pytest.mark.parametrize("fault", [TurnInFlightError(SESSION), ConcurrencyLimitError("full")])
def test_turn_that_found_no_place_is_opened_later_and_counts_for_nothing(
    world: World, fault: MekaError
) -> None:
    world.add()
    world.openings = [fault, fault]
    world.dispatcher.start()
    world.until(lambda: world.opened == [True])
    assert world.item().attempts == 0
    assert world.fates == []


def test_turn_that_could_not_begin_counts_as_an_attempt(world: World) -> None:
    world.add()
    world.openings = [StoreUnavailableError()]
    world.dispatcher.start()
    world.until(lambda: [fate.event for fate in world.fates] == ["inbox.deferred"])
    assert world.item().attempts == 1
    assert world.item().not_before == world.clock.now() + timedelta(seconds=10)


def test_profile_that_cannot_run_gives_the_item_up(world: World) -> None:
    world.add()
    world.openings = [ConfigurationError("no profile named 'x' (configured: none)")]
    world.dispatcher.start()
    world.until(lambda: [fate.event for fate in world.fates] == ["inbox.failed"])
    assert world.item().state is ItemState.WITHDRAWN


def test_fault_of_ours_does_not_strand_an_item(world: World) -> None:
    world.add()
    world.openings = [ZeroDivisionError()]
    world.dispatcher.start()
    world.until(lambda: world.loaded == 1)
    gevent.sleep(0.02)
    assert world.dispatcher._pumps
    world.dispatcher.poke(SESSION)
    world.until(lambda: world.opened == [True])


def test_report_opens_a_turn_of_its_own_but_a_canceled_task_none(world: World) -> None:
    world.database.write(lambda tx: tasks.start(tx, SESSION, "task", tool="t", label="l"))
    world.database.write(lambda tx: tasks.finish(tx, "task", TaskStatus.CANCELED))
    world.dispatcher.poke(SESSION)
    world.until(lambda: not world.dispatcher._pumps)
    assert world.opened == []
    world.database.write(lambda tx: tasks.start(tx, SESSION, "other", tool="t", label="l"))
    world.database.write(lambda tx: tasks.finish(tx, "other", TaskStatus.FAILED))
    world.dispatcher.poke(SESSION)
    world.until(lambda: world.opened == [False])


@pytest.mark.parametrize("what", ["task", "turn"])
def test_session_in_which_a_process_died_is_loaded_at_the_start(world: World, what: str) -> None:
    if what == "task":
        world.database.write(lambda tx: tasks.start(tx, SESSION, "task", tool="t", label="l"))
    else:
        world.database.write(lambda tx: turns.start(tx, SESSION, "turn", source="inbox", permission="read"))
    world.on_load = lambda: world.database.write(lambda tx: tasks.interrupt_running(tx, SESSION))
    world.dispatcher.start()
    world.until(lambda: world.loaded > 0 and not world.dispatcher._pumps)
    assert world.opened == ([False] if what == "task" else [])


def test_stop_does_not_wait_for_the_turn_that_runs(world: World) -> None:
    world.add()
    world.ends.clear()
    world.dispatcher.start()
    world.until(lambda: world.opened == [True])
    with gevent.Timeout(1.0):
        world.dispatcher.stop()
    assert not world.dispatcher._pumps
    world.dispatcher.poke(SESSION)
    assert not world.dispatcher._pumps


def test_busy_session_is_not_looked_at_for_what_lands_until_it_is_free(world: World) -> None:
    looks = CountingReads(world.database)
    dispatcher = Dispatcher(looks, world, world, world.clock)  # type: ignore[arg-type]
    world.loaded, world.runtime.slot = 1, object()
    for number in range(20):
        world.add(f"item-{number}")
        dispatcher.poke(SESSION)
        gevent.idle()
    assert looks.reads == 0
    world.runtime.slot = None
    world.runtime.freed.set()
    world.until(lambda: world.opened == [True])
    dispatcher.stop()


class CountingReads:
    """A store that counts its reads."""

    def __init__(self, database: Database) -> None:
        self.read_from = database.read
        self.write = database.write
        self.reads = 0

    def read(self, query: Callable[[Tx], Any]) -> Any:
        self.reads += 1
        return self.read_from(query)

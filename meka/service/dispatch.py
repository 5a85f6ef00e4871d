"""Opens the turns nobody asked for over HTTP: for inbox items, and to report background tasks.

Each session with work has one greenlet, until nothing is left to do. It waits for the session to be free, for
a place among the turns of the process, for the next attempt's time, or for the process that holds it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import gevent
from gevent import Greenlet
from gevent.event import Event

from meka.base.clock import Clock
from meka.base.errors import (
    ConcurrencyLimitError,
    MekaError,
    SessionLockedError,
    SessionNotFoundError,
    ShuttingDownError,
    TurnInFlightError,
)
from meka.service.fates import LOCKED_WAIT_SECONDS, Fate, fail_item, wait_for_holder
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.service.turns import Turns
from meka.store import inbox, tasks, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow

LOG = logging.getLogger(__name__)

_FULL_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 60.0
_AFTER_FAULT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a session has to do: items due now, when the next one is, whether a report is owed."""

    due: tuple[InboxRow, ...]
    next_at: datetime | None
    has_report: bool

    @property
    def is_due(self) -> bool:
        """Whether a turn could open now."""
        return bool(self.due) or self.has_report


@dataclass(slots=True, eq=False)
class Pump:
    """One session's greenlet, and what wakes it. `must_load`: another process died in the session, and what
    it left is put right by loading it."""

    wake: Event
    must_load: bool = False
    greenlet: Greenlet | None = None


class Dispatcher:
    """The pumps of this process."""

    def __init__(self, database: Database, registry: Registry, turns: Turns, clock: Clock) -> None:
        self._database = database
        self._registry = registry
        self._turns = turns
        self._clock = clock
        self._pumps: dict[str, Pump] = {}
        self._stopping = Event()
        self.announce: Callable[[str, Fate], None] = lambda _session_id, _fate: None

    def start(self) -> None:
        """Take up what an earlier process left."""
        waiting, broken = self._database.read(
            lambda tx: (
                {*inbox.waiting_sessions(tx), *tasks.unreported_sessions(tx)},
                {*tasks.running_sessions(tx), *turns.left_open(tx, "inbox")},
            )
        )
        for session_id in waiting | broken:
            self._spawn(session_id, must_load=session_id in broken)

    def poke(self, session_id: str) -> None:
        """The session may have work."""
        if self._stopping.is_set():
            return
        pump = self._pumps.get(session_id)
        if pump is None:
            self._spawn(session_id, must_load=False)
        else:
            pump.wake.set()

    def _spawn(self, session_id: str, *, must_load: bool) -> None:
        pump = self._pumps[session_id] = Pump(Event(), must_load)
        pump.greenlet = gevent.spawn(self._run, session_id, pump)
        pump.greenlet.name = f"inbox-{session_id}"

    def stop(self) -> None:
        """Open no more turns; those that run are the drain's."""
        self._stopping.set()
        greenlets = [pump.greenlet for pump in self._pumps.values() if pump.greenlet is not None]
        for pump in self._pumps.values():
            pump.wake.set()
        gevent.joinall(greenlets, timeout=5.0)

    def _run(self, session_id: str, pump: Pump) -> None:
        try:
            while not self._stopping.is_set() and self._step_safely(session_id, pump):
                pass
        finally:
            del self._pumps[session_id]

    def _step_safely(self, session_id: str, pump: Pump) -> bool:
        """One look at a session, and another one later where this one failed: nothing may strand an item."""
        try:
            return self._step(session_id, pump)
        except SessionNotFoundError:
            LOG.info("a session with work is gone", extra={"session_id": session_id})
            return False
        except Exception:
            LOG.exception("a session's inbox could not be served", extra={"session_id": session_id})
            pump.wake.wait(_AFTER_FAULT_SECONDS)
            return True

    def _step(self, session_id: str, pump: Pump) -> bool:
        """One look at a session; False when nothing is left to do."""
        pump.wake.clear()
        loaded = self._registry.get(session_id)
        if loaded is not None and loaded.slot is not None:
            # Whatever lands meanwhile, nothing can be done about it before: no look for each item.
            return self._wait_for_slot(loaded)
        work = self._look(session_id)
        if not work.is_due and not pump.must_load:
            return self._wait_for_more(work, pump)
        runtime = self._hold(session_id, work, pump)
        if runtime is None or not work.is_due:
            return True
        if runtime.slot is not None:
            return self._wait_for_slot(runtime)
        self._open(runtime, work, pump)
        return True

    def _wait_for_slot(self, runtime: SessionRuntime) -> bool:
        """Wait until the session is free, or the server stops."""
        gevent.wait([runtime.freed, self._stopping], count=1)
        return True

    def _look(self, session_id: str) -> Work:
        now = self._clock.now()

        def query(tx: Tx) -> Work:
            waiting = inbox.pending(tx, session_id)
            due = tuple(item for item in waiting if item.not_before is None or item.not_before <= now)
            later = [item.not_before for item in waiting if item.not_before is not None and item not in due]
            return Work(due, min(later, default=None), tasks.has_unreported(tx, session_id, opening=True))

        return self._database.read(query)

    def _wait_for_more(self, work: Work, pump: Pump) -> bool:
        """Wait for the next attempt's time. Nothing yields before the end, so that no poke falls between."""
        if pump.wake.is_set():
            return True
        if work.next_at is None:
            return False
        seconds = (work.next_at - self._clock.now()).total_seconds()
        # Bounded: the clock may be set while this waits.
        pump.wake.wait(min(max(seconds, 0.0) + 0.001, _LONGEST_WAIT_SECONDS))
        return True

    def _hold(self, session_id: str, work: Work, pump: Pump) -> SessionRuntime | None:
        """The session, loaded; None when another process has it. Items wait by themselves, a report here."""
        try:
            runtime = self._registry.load(session_id)
        except SessionLockedError as error:
            self._wait_for_holder(session_id, work, error)
            if not work.due:
                pump.wake.wait(LOCKED_WAIT_SECONDS)
            return None
        pump.must_load = False
        return runtime

    def _wait_for_holder(self, session_id: str, work: Work, error: MekaError) -> None:
        now = self._clock.now()
        fates = self._database.write(
            lambda tx: [
                wait_for_holder(tx, item, error, now) for item in self._still_due(tx, session_id, work)
            ]
        )
        for fate in fates:
            if fate is not None:
                self.announce(session_id, fate)

    def _still_due(self, tx: Tx, session_id: str, work: Work) -> list[InboxRow]:
        """The items of `work` that nobody took meanwhile: the holder's turn, or who withdrew one."""
        due = {item.id for item in work.due}
        return [item for item in inbox.pending(tx, session_id) if item.id in due]

    def _open(self, runtime: SessionRuntime, work: Work, pump: Pump) -> None:
        """Open a turn and wait for its end; an attempt that could not begin counts as one that failed."""
        try:
            active = self._turns.open_autonomous(runtime, for_items=bool(work.due))
        except TurnInFlightError:
            return
        except (ConcurrencyLimitError, ShuttingDownError):
            self._turns.wait_for_place(_FULL_WAIT_SECONDS)
            return
        except MekaError as error:
            self._fail(runtime.id, work, error)
            if not work.due:
                pump.wake.wait(LOCKED_WAIT_SECONDS)
            return
        if active is not None:
            gevent.wait([active.done, self._stopping], count=1)

    def _fail(self, session_id: str, work: Work, error: MekaError) -> None:
        now = self._clock.now()
        fates = self._database.write(
            lambda tx: [fail_item(tx, item, error, now) for item in self._still_due(tx, session_id, work)]
        )
        for fate in fates:
            self.announce(session_id, fate)

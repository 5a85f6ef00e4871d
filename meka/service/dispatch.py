"""Opens the turns nobody asked for over HTTP: for inbox items, and to report background tasks that have ended.

Each session with work has one greenlet, until nothing is left to do. It waits for the session to be free, for a
place among the turns of the process, for the next attempt's time, or for the process that holds the session.
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
    problem_of,
)
from meka.service.mail import Fate, fail_item, give_up
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.service.turns import Turns
from meka.store import inbox, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow

LOG = logging.getLogger(__name__)

LOCKED_WAIT_SECONDS = 10.0
_FULL_WAIT_SECONDS = 1.0


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
    """One session's greenlet, and what wakes it."""

    wake: Event
    greenlet: Greenlet | None = None


class Dispatcher:
    """The pumps of this process."""

    def __init__(self, database: Database, registry: Registry, turns: Turns, clock: Clock) -> None:
        self._database = database
        self._registry = registry
        self._turns = turns
        self._clock = clock
        self._pumps: dict[str, Pump] = {}
        self._stopped = False
        self.announce: Callable[[str, Fate], None] = lambda _session_id, _fate: None

    def start(self) -> None:
        """Take up what an earlier process left."""
        waiting = self._database.read(
            lambda tx: {
                *inbox.waiting_sessions(tx),
                *tasks.unreported_sessions(tx),
                *tasks.running_sessions(tx),
            }
        )
        for session_id in waiting:
            self.poke(session_id)

    def poke(self, session_id: str) -> None:
        """The session may have work."""
        if self._stopped:
            return
        pump = self._pumps.get(session_id)
        if pump is not None:
            pump.wake.set()
            return
        pump = self._pumps[session_id] = Pump(Event())
        pump.greenlet = gevent.spawn(self._run, session_id, pump)
        pump.greenlet.name = f"inbox-{session_id}"

    def stop(self) -> None:
        """Open no more turns; those that run are the drain's."""
        self._stopped = True
        greenlets = [pump.greenlet for pump in self._pumps.values() if pump.greenlet is not None]
        for pump in self._pumps.values():
            pump.wake.set()
        gevent.joinall(greenlets, timeout=5.0)

    def _run(self, session_id: str, pump: Pump) -> None:
        try:
            while not self._stopped and self._step(session_id, pump):
                pass
        except SessionNotFoundError:
            LOG.info("a session with work is gone", extra={"session_id": session_id})
        except MekaError:
            LOG.exception("a session's inbox stopped", extra={"session_id": session_id})
        finally:
            del self._pumps[session_id]

    def _step(self, session_id: str, pump: Pump) -> bool:
        """One look at a session; False when nothing is left to do."""
        pump.wake.clear()
        work = self._look(session_id)
        if not work.is_due:
            return self._wait_for_more(work, pump)
        runtime = self._hold(session_id, work, pump)
        if runtime is None:
            return True
        if runtime.slot is not None:
            gevent.wait([runtime.freed, pump.wake], count=1)
            return True
        self._open(runtime, work, pump)
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
        pump.wake.wait(max(seconds, 0.0) + 0.001)
        return True

    def _hold(self, session_id: str, work: Work, pump: Pump) -> SessionRuntime | None:
        """The session, loaded; None when another process has it, after a wait."""
        try:
            return self._registry.load(session_id)
        except SessionLockedError as error:
            self._expire(session_id, work, error)
            pump.wake.wait(LOCKED_WAIT_SECONDS)
            return None

    def _expire(self, session_id: str, work: Work, error: MekaError) -> None:
        """Give up on the items whose time for attempts is over while another process held the session."""
        now = self._clock.now()
        late = [item for item in work.due if now > item.retry_until and item.not_before is not None]
        fresh = [item for item in work.due if item.not_before is None]
        problem = dict(problem_of(error))

        def unit(tx: Tx) -> list[Fate]:
            for item in fresh:
                inbox.note_attempt(tx, item.id, now, problem)
            return [give_up(tx, item, "another process held the session until the time was over", problem)
                    for item in late]  # fmt: skip

        for fate in self._database.write(unit):
            self.announce(session_id, fate)

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
            active.done.wait()

    def _fail(self, session_id: str, work: Work, error: MekaError) -> None:
        now = self._clock.now()
        fates = self._database.write(lambda tx: [fail_item(tx, item, error, now) for item in work.due])
        for fate in fates:
            self.announce(session_id, fate)

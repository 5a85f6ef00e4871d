"""What is tidied without being asked: idle sessions leave memory, old trees and stale lock files the disk."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from meka.base.clock import Clock
from meka.base.errors import MekaError
from meka.service.runtime import SessionRuntime
from meka.store import inbox, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.locks import SessionLocks

LOG = logging.getLogger(__name__)


class Stop(Protocol):
    """Set when the process is to end."""

    def wait(self, timeout: float) -> bool:
        """Wait until it is set, or the seconds are over; whether it is set."""


class Residents(Protocol):
    """The sessions in memory."""

    def all(self) -> Iterable[SessionRuntime]:
        """Each of them."""

    def get(self, session_id: str) -> SessionRuntime | None:
        """The session, when it is in memory."""

    def unload(self, runtime: SessionRuntime) -> None:
        """Let one go, ending the feeds of those who read it."""


@dataclass(frozen=True, slots=True)
class HousekeepingSettings:
    """What the configuration says. Units: seconds; `idle` 0 never evicts, `retention` None keeps all."""

    idle_seconds: float
    scan_seconds: float
    delete_on_idle: bool
    retention_seconds: float | None


class IdleEviction:
    """Lets sessions go that nobody has used for a while.

    `delete` deletes a session with its tree and announces it; `has_tasks` says whether a background task of a
    session runs here.
    """

    def __init__(
        self,
        database: Database,
        registry: Residents,
        delete: Callable[[str], None],
        has_tasks: Callable[[str], bool],
        clock: Clock,
        settings: HousekeepingSettings,
    ) -> None:
        self._database = database
        self._registry = registry
        self._delete = delete
        self._has_tasks = has_tasks
        self._clock = clock
        self._settings = settings

    def run(self, stop: Stop) -> None:
        """Scan at intervals until told to stop; at once over where eviction is off."""
        if not self._settings.idle_seconds:
            return
        while not stop.wait(self._settings.scan_seconds):
            self.scan()

    def scan(self) -> None:
        """Evict what has been idle for long enough; what cannot go is tried again by the next scan."""
        for runtime in self._registry.all():
            if not self._is_due(runtime):
                continue
            try:
                self._evict(runtime)
            except MekaError as error:
                LOG.warning("an idle session stays: %s", error.detail, extra={"session_id": runtime.id})
            except Exception:
                LOG.exception("an idle session could not be evicted", extra={"session_id": runtime.id})

    def _is_due(self, runtime: SessionRuntime) -> bool:
        """Whether it may go. One that is in use has not been idle until now."""
        now = self._clock.monotonic()
        if self._is_in_use(runtime):
            runtime.last_used = now
        return now - runtime.last_used >= self._settings.idle_seconds

    def _is_in_use(self, runtime: SessionRuntime) -> bool:
        return bool(
            runtime.slot is not None or runtime.keepers > 0 or runtime.parked or self._has_tasks(runtime.id)
        )

    def _evict(self, runtime: SessionRuntime) -> None:
        deletes = self._settings.delete_on_idle and self._may_be_deleted(runtime)
        # That read let others run: by now the session may be in use again, or gone.
        if self._registry.get(runtime.id) is not runtime or not self._is_due(runtime):
            return
        if deletes:
            self._delete(runtime.id)
        else:
            self._registry.unload(runtime)
        LOG.info("an idle session was evicted", extra={"session_id": runtime.id, "deleted": deletes})

    def _may_be_deleted(self, runtime: SessionRuntime) -> bool:
        """A sub-agent goes with its tree alone; a message that waits was promised a turn."""
        if runtime.row.parent_id is not None:
            return False
        return not self._database.read(lambda tx: _has_open_items(tx, sessions.tree(tx, runtime.id)))


class StartupSweep:
    """Removes, as the server starts, what has outlived its use."""

    def __init__(
        self,
        database: Database,
        locks: SessionLocks,
        clock: Clock,
        run_blocking: Callable[..., Any],
        settings: HousekeepingSettings,
    ) -> None:
        self._database = database
        self._locks = locks
        self._clock = clock
        self._run_blocking = run_blocking
        self._settings = settings

    def run(self) -> None:
        """What is to be gone before the server answers. A busy store does not keep it from starting."""
        self._try(self.sweep_sessions)

    def run_beside(self) -> None:
        """What costs more the more sessions there are, and harms nobody who is served meanwhile."""
        self._try(self.sweep_locks)

    def _try(self, sweep: Callable[[], int]) -> None:
        try:
            sweep()
        except MekaError as error:
            LOG.warning("the sweep at start was cut short: %s", error.detail)

    def sweep_sessions(self) -> int:
        """Delete the trees whose root is older than the retention; how many went.

        Pinned ones stay, those open anywhere, and those in which a message waits for a turn.
        """
        if self._settings.retention_seconds is None:
            return 0
        before = self._clock.now() - timedelta(seconds=self._settings.retention_seconds)
        roots = self._database.read(lambda tx: sessions.stale_roots(tx, before))
        deleted = sum(self._delete_stale(root, before) for root in roots)
        LOG.info("sessions past their retention were deleted", extra={"count": deleted})
        return deleted

    def _delete_stale(self, root: str, before: datetime) -> bool:
        tree = self._database.read(lambda tx: sessions.tree(tx, root))
        locks = self._locks.try_acquire_all(tree)
        if locks is None:
            return False
        gone: list[str] = []
        try:
            gone = self._database.write(lambda tx: _delete_stale_tree(tx, root, tree, before))
        finally:
            for session_id, lock in locks.items():
                lock.discard() if session_id in gone else lock.release()
        return bool(gone)

    def sweep_locks(self) -> int:
        """Remove lock files of sessions that are no more; how many went."""
        session_ids = self._database.read(sessions.all_ids)
        removed: int = self._run_blocking(self._locks.sweep, session_ids)
        return removed


def _delete_stale_tree(tx: Tx, root: str, locked: list[str], before: datetime) -> list[str]:
    """Delete a tree that is still stale, and still what was locked. Shape: the ids that went."""
    row = sessions.get(tx, root)
    if row is None or row.pinned_at is not None or row.updated_at >= before:
        return []
    if sessions.tree(tx, root) != locked or _has_open_items(tx, locked):
        return []
    return sessions.delete_tree(tx, root)


def _has_open_items(tx: Tx, session_ids: Iterable[str]) -> bool:
    return any(inbox.open_items(tx, each) for each in session_ids)

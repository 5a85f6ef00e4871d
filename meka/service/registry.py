"""The sessions this process holds: loaded once, under their cross-process lock, and let go again."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from gevent.lock import BoundedSemaphore

from meka.agent.checklist import view as checklist_view
from meka.agent.conversation import Conversation
from meka.agent.toolbox import loaded_tools
from meka.base.clock import Clock
from meka.base.errors import SessionLockedError, SessionNotFoundError
from meka.service.checklists import checklist_of
from meka.service.feed import Feed
from meka.service.recovery import offer_unanswered
from meka.service.runtime import SessionRuntime
from meka.store import inbox, renames, sessions, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from meka.store.locks import SessionLock, SessionLocks
from meka.store.sessions import SessionRow
from meka.store.tasks import TaskRow

BuildPrompt = Callable[[SessionRow], str]


@dataclass(frozen=True, slots=True)
class Quiet:
    """A session in which nothing runs meanwhile. `runtime` is None where this process does not hold it."""

    row: SessionRow
    conversation: Conversation
    runtime: SessionRuntime | None


class Registry:
    """Loads sessions. A feed's first id is above every one issued before: microseconds since the epoch."""

    def __init__(
        self,
        database: Database,
        locks: SessionLocks,
        clock: Clock,
        replay_events: int,
        build_prompt: BuildPrompt,
        admit_level: Callable[[SessionRow], SessionRow],
        keeps_checklist: bool = True,
    ) -> None:
        self._database = database
        self._locks = locks
        self._clock = clock
        self._replay_events = replay_events
        self._build_prompt = build_prompt
        self._admit_level = admit_level
        self._keeps_checklist = keeps_checklist
        self._resident: dict[str, SessionRuntime] = {}
        self._least_event_id = 0
        self.on_adopt: list[Callable[[SessionRuntime], None]] = []
        self.on_unload: list[Callable[[SessionRuntime], None]] = []
        # A semaphore lives for as long as anybody waits at it or holds it.
        self._loading: WeakValueDictionary[str, BoundedSemaphore] = WeakValueDictionary()

    def get(self, session_id: str) -> SessionRuntime | None:
        """The session, when this process holds it."""
        return self._resident.get(session_id)

    def all(self) -> Iterable[SessionRuntime]:
        """Every session this process holds."""
        return tuple(self._resident.values())

    def load(self, session_id: str) -> SessionRuntime:
        """The session, loaded if it was not. Raises: SessionNotFoundError, SessionLockedError."""
        runtime = self._resident.get(session_id)
        if runtime is not None:
            return runtime
        with self._one_at_a_time(session_id):
            return self._resident.get(session_id) or self._load(session_id)

    def _one_at_a_time(self, session_id: str) -> BoundedSemaphore:
        return self._loading.setdefault(session_id, BoundedSemaphore(1))

    @contextmanager
    def quiet(self, session_id: str) -> Iterator[Quiet]:
        """Keep turns and other processes out of a session while it is copied or rewritten; it stays unloaded.

        Raises: SessionNotFoundError, TurnInFlightError, SessionLockedError.
        """
        with self._one_at_a_time(session_id):
            runtime = self._resident.get(session_id)
            if runtime is not None:
                with runtime.hold():
                    yield Quiet(self.row(session_id), runtime.conversation, runtime)
                return
            self.row(session_id)
            lock = self.lock(session_id)
            try:
                # Read under the lock: whoever held it may have written until now.
                row = self.row(session_id)
                yield Quiet(row, Conversation.load(self._database, session_id, row.revision), None)
            finally:
                lock.release()

    def _load(self, session_id: str) -> SessionRuntime:
        self.row(session_id)
        lock = self.lock(session_id)
        try:
            # Read again under the lock: whoever held it may have written until now.
            row = self.row(session_id)
            conversation = Conversation.load(self._database, session_id, row.revision)
            self._database.write(lambda tx: tasks.interrupt_running(tx, session_id))
            offer_unanswered(self._database, conversation)
            open_items, known = self._database.read(
                lambda tx: (inbox.open_items(tx, session_id), tasks.of_session(tx, session_id))
            )
            return self._with_work(self.adopt(row, lock, conversation), open_items, known)
        except BaseException:
            lock.release()
            raise

    def _with_work(
        self, runtime: SessionRuntime, items: Sequence[InboxRow], known: Sequence[TaskRow]
    ) -> SessionRuntime:
        """What earlier turns left: items that no provider accepted yet, and the tasks there were.

        Nothing here yields: the session is in everyone's reach already.
        """
        appended = [item.id for item in items if item.state is ItemState.APPENDED]
        runtime.appended.update(dict.fromkeys(appended))
        runtime.taken.update(appended)
        runtime.known_tasks.update({task.id: task.delivered_at is not None for task in known})
        runtime.shown_checklist = checklist_view(checklist_of(runtime))
        return runtime

    def row(self, session_id: str) -> SessionRow:
        """The session's row as stored. Raises: SessionNotFoundError."""
        row = self._database.read(lambda tx: sessions.get(tx, session_id))
        if row is None:
            raise SessionNotFoundError(session_id)
        return row

    def doubt_names(self) -> None:
        """Another configuration is in force: a shell may have renamed profiles that sessions are on."""
        for runtime in self._resident.values():
            runtime.name_in_doubt = True

    def follow_rename(self, runtime: SessionRuntime, known: Container[str]) -> None:
        """Take the name that the session's profile has now, where it is one of those known.

        A rename made in a shell reaches the row alone; one that a crash cut short, or that met the row as it
        was written, not even that.
        """
        # Settled before the read: whatever comes into force meanwhile is a doubt of its own.
        runtime.name_in_doubt = False
        try:
            name = self.row(runtime.id).profile
            if name not in known:
                name = self._catch_up(runtime.id, name, known)
        except BaseException:
            runtime.name_in_doubt = True
            raise
        if name != runtime.row.profile:
            runtime.take_profile_name(name)

    def _catch_up(self, session_id: str, name: str, known: Container[str]) -> str:
        """Let a row that says an old name say the one that came after it."""

        def unit(tx: Tx) -> str:
            later = renames.later_name(tx, name, known)
            if later is not None:
                sessions.change(tx, session_id, touch=False, profile=later)
            return later or name

        return self._database.write(unit)

    def lock(self, session_id: str) -> SessionLock:
        """The session's cross-process lock. Raises: SessionLockedError."""
        lock = self._locks.try_acquire(session_id)
        if lock is None:
            raise SessionLockedError(session_id)
        return lock

    def adopt(self, row: SessionRow, lock: SessionLock, conversation: Conversation) -> SessionRuntime:
        """Hold a session whose lock was taken by the caller."""
        row = self._admit_level(row)
        runtime = SessionRuntime(
            row=row,
            lock=lock,
            conversation=conversation,
            feed=Feed(self._first_event_id(), self._replay_events, {"session_id": row.id}),
            system_prompt=self._build_prompt(row),
            resumed=conversation.total > 0,
            loaded_tools=tools_in_force(conversation),
            context_tokens=row.context_tokens or 0,
            last_used=self._clock.monotonic(),
            keeps_checklist=self._keeps_checklist,
        )
        runtime.feed.observers.append(runtime.observe)
        runtime.shown_checklist = checklist_view(checklist_of(runtime))
        self._resident[row.id] = runtime
        for prepare in self.on_adopt:
            prepare(runtime)
        return runtime

    def _first_event_id(self) -> int:
        """Above every id that a feed of this process issued, also where the clock was set back."""
        return max(int(self._clock.now().timestamp() * 1_000_000), self._least_event_id)

    def end_feeds(self) -> None:
        """End every reader, once it has had what is there."""
        for runtime in self._resident.values():
            runtime.feed.end()

    def unload(self, runtime: SessionRuntime) -> None:
        """Let a session go: its feed ends, another process may take it."""
        if self._resident.get(runtime.id) is runtime:
            del self._resident[runtime.id]
        self._least_event_id = max(self._least_event_id, runtime.feed.next_id)
        for part_with in self.on_unload:
            part_with(runtime)
        runtime.feed.end()
        runtime.lock.release()


def tools_in_force(conversation: Conversation) -> tuple[str, ...]:
    """The deferred tools in force: those that a compaction recorded, and those loaded since."""
    recorded = conversation.boundary.loaded_tools if conversation.boundary is not None else ()
    return tuple(dict.fromkeys((*recorded, *loaded_tools(conversation.since_boundary))))

"""Background tasks: tool calls that go on beside the turn and outlive it, until they are reported."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import gevent
from gevent import Greenlet
from gevent.event import AsyncResult, Event

from meka.agent.cancel import Cancel
from meka.agent.runner import Call
from meka.agent.tools.base import ToolError, ToolOutcome
from meka.base.errors import NotFoundError
from meka.base.ids import Ids
from meka.base.text import one_line, scrub
from meka.service.outcomes import Outcome, pack
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.service.views import task_view
from meka.store import scratchpad, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.tasks import TaskStatus

LOG = logging.getLogger(__name__)

LABEL_CHARS = 80

Work = Callable[[Cancel], ToolOutcome]


@dataclass(slots=True, eq=False)
class Running:
    """A task that this process runs; `entry` is the scratchpad's that its call wants the result in, and
    `replaces` the moment at which what was there as the task began had been written.

    `stored` resolves when its row is written, or with why it never was; `awaited` is set when its call has
    heard of that.
    """

    session_id: str
    tool: str
    label: str
    entry: str | None
    cancel: Cancel
    stored: AsyncResult = field(default_factory=AsyncResult)
    awaited: Event = field(default_factory=Event)
    replaces: datetime | None = None
    greenlet: Greenlet | None = None


class Background:
    """The tasks of this process. `max_tasks` None switches the feature off; `on_end` is told of each end."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        ids: Ids,
        max_tasks: int | None,
        on_end: Callable[[str], None],
    ) -> None:
        self._database = database
        self._registry = registry
        self._ids = ids
        self._max_tasks = max_tasks
        self._on_end = on_end
        self._running: dict[str, Running] = {}

    @property
    def is_enabled(self) -> bool:
        """Whether calls may go on in the background at all."""
        return self._max_tasks is not None

    def running_in(self, session_id: str) -> list[str]:
        """The tasks of a session that this process runs."""
        return [task_id for task_id, each in self._running.items() if each.session_id == session_id]

    def start(
        self, runtime: SessionRuntime, call: Call, label: str | None, work: Work, entry: str | None
    ) -> ToolOutcome:
        """Start a call beside the turn; `entry` is the scratchpad's for its result, where it names one.

        Raises: ToolError when too many are running, or one of them writes that entry.
        """
        entry = None if entry is None else scrub(entry)
        if len(self.running_in(runtime.id)) >= (self._max_tasks or 0):
            raise ToolError(
                f"{self._max_tasks} background tasks are running, which is the limit; cancel one first"
            )
        self._refuse_taken(runtime.id, entry)
        task_id = self._ids.new()
        text = one_line(f"{call.name} {label or ''}")[:LABEL_CHARS]
        running = Running(runtime.id, call.name, text, entry, Cancel())
        # Counted before the row is written: two calls of one message cannot both take the last place.
        self._running[task_id] = running
        # Who calls may be a canceled turn's greenlet, which is killed: another writes the row and ends it.
        running.greenlet = gevent.spawn(self._run, runtime, task_id, running, work)
        running.greenlet.name = f"task-{task_id}"
        try:
            running.stored.get()
        except BaseException:
            running.cancel.request("client")
            raise
        running.awaited.set()
        kept = f" Its result goes to the scratchpad as '{one_line(entry)}'." if entry else ""
        return ToolOutcome(
            f"Started in the background as task {task_id[:8]}: {text}. Its outcome is reported when it has "
            f"ended; stop it with task_cancel.{kept}"
        )

    def _refuse_taken(self, session_id: str, entry: str | None) -> None:
        for task_id in self.running_in(session_id):
            running = self._running[task_id]
            if entry is not None and running.entry == entry and not running.cancel.requested:
                raise ToolError(
                    f"task {task_id[:8]} puts its result into the scratchpad entry '{one_line(entry)}'; "
                    "name another"
                )

    def _run(self, runtime: SessionRuntime, task_id: str, running: Running, work: Work) -> None:
        try:
            self._store(runtime, task_id, running)
        except Exception as error:
            del self._running[task_id]
            running.stored.set_exception(error)
            return
        running.stored.set(None)
        outcome = self._outcome(running, work)
        try:
            self._finish(task_id, running, outcome)
        except Exception:
            LOG.exception("a task's end could not be stored", extra={"task_id": task_id})
        finally:
            self._forget(task_id, running)
            self._on_end(running.session_id)

    def _store(self, runtime: SessionRuntime, task_id: str, running: Running) -> None:
        """Write the row of a task, which is known of from then on."""

        def unit(tx: Tx) -> datetime | None:
            tasks.start(tx, runtime.id, task_id, tool=running.tool, label=running.label)
            return None if running.entry is None else scratchpad.made_at(tx, runtime.id, running.entry)

        running.replaces = self._database.write(unit)
        runtime.known_tasks[task_id] = False
        runtime.running_tasks[task_id] = running.label

    def _forget(self, task_id: str, running: Running) -> None:
        del self._running[task_id]
        runtime = self._registry.get(running.session_id)
        if runtime is not None:
            runtime.running_tasks.pop(task_id, None)

    def _outcome(self, running: Running, work: Work) -> Outcome:
        """What the work came to; it is not begun before its call has heard that it is."""
        running.cancel.wait_beside([running.awaited])
        return Outcome(self._stopped(running)) if running.cancel.requested else self._done(running, work)

    def _done(self, running: Running, work: Work) -> Outcome:
        worker = gevent.spawn(_guarded, work, running.cancel)
        worker.name = f"task-work-{running.tool}"
        running.cancel.wait_beside([worker])
        if not worker.ready():
            worker.kill()
        if running.cancel.requested:
            return Outcome(self._stopped(running))
        given = worker.value
        if isinstance(given, ToolOutcome):
            status = TaskStatus.FAILED if given.is_error else TaskStatus.COMPLETED
            return Outcome(status, scrub(given.text), given.images, running.entry)
        if isinstance(given, ToolError):
            return Outcome(TaskStatus.FAILED, scrub(f"Tool error: {given}"))
        LOG.error("a background task crashed", exc_info=given, extra={"tool": running.tool})
        return Outcome(TaskStatus.FAILED, f"Tool error: {running.tool} failed unexpectedly.")

    def _stopped(self, running: Running) -> TaskStatus:
        return TaskStatus.INTERRUPTED if running.cancel.reason == "server_shutdown" else TaskStatus.CANCELED

    def _finish(self, task_id: str, running: Running, outcome: Outcome) -> None:
        """Store an outcome, with what goes to the scratchpad. A task ended elsewhere keeps its end."""
        parcel = pack(outcome, f"task_{task_id[:8]}_{running.tool}")

        def unit(tx: Tx) -> None:
            entry = parcel.entry if outcome.entry is None else _free_entry(tx, running, outcome.entry)
            if tasks.finish(tx, task_id, outcome.status, outcome=parcel.said, scratchpad_entry=entry):
                for name, content in parcel.entries.items():
                    kept_as = entry if entry is not None and name == parcel.entry else name
                    scratchpad.put(tx, running.session_id, kept_as, content)

        self._database.write(unit)

    def cancel(self, session_id: str, task_id: str) -> None:
        """Record a cancellation and stop what runs here; an ended task stays as it ended.

        Raises: NotFoundError for an id that the session has no task of.
        """
        row = self._database.read(lambda tx: tasks.get(tx, session_id, task_id))
        if row is None:
            self._registry.row(session_id)
            raise NotFoundError(
                f"task '{task_id}' not found in session '{session_id}'", session_id=session_id
            )
        self.cancel_all(session_id, [task_id])

    def cancel_all(self, session_id: str, task_ids: Sequence[str]) -> None:
        """Record cancellations and stop what runs here; ended tasks stay as they ended."""
        # Stopped first: who asks may be killed as it writes, with a canceled turn or as one of the tasks.
        here = [running for task_id in task_ids if (running := self._running.get(task_id)) is not None]
        for running in here:
            running.cancel.request("client")
        changed = self._database.write(
            lambda tx: [tasks.finish(tx, task_id, TaskStatus.CANCELED) for task_id in task_ids]
        )
        if any(changed) and len(here) < len(task_ids):
            self._on_end(session_id)

    def end_session(self, session_id: str) -> None:
        """The session is gone: nothing of it runs on."""
        for task_id in self.running_in(session_id):
            self._running[task_id].cancel.request("client")

    def list(self, session_id: str) -> dict[str, Any]:
        """A session's tasks, newest first. Raises: SessionNotFoundError."""
        self._registry.row(session_id)
        rows = self._database.read(lambda tx: tasks.of_session(tx, session_id))
        return {"tasks": [task_view(row) for row in rows]}

    def list_all(self, status: str | None) -> dict[str, Any]:
        """Every session's tasks, newest first."""
        wanted = None if status is None else TaskStatus(status)
        return {
            "tasks": [task_view(row) for row in self._database.read(lambda tx: tasks.everywhere(tx, wanted))]
        }

    def drain(self, timeout_seconds: float) -> bool:
        """Stop every task and wait for its end to be stored; False when some did not end in time."""
        greenlets = [each.greenlet for each in self._running.values() if each.greenlet is not None]
        for each in self._running.values():
            each.cancel.request("server_shutdown")
        return len(gevent.joinall(greenlets, timeout=timeout_seconds)) == len(greenlets)


def _free_entry(tx: Tx, running: Running, entry: str) -> str:
    """Where a result goes: not over what was written under its name since the task began."""
    name, number = entry, 1
    while (made := scratchpad.made_at(tx, running.session_id, name)) is not None:
        if number == 1 and made == running.replaces:
            break
        number += 1
        name = f"{entry}_{number}"
    return name


def _guarded(work: Work, cancel: Cancel) -> ToolOutcome | Exception:
    """The outcome as a value: gevent prints what a greenlet raises."""
    try:
        return work(cancel)
    except Exception as error:
        return error


class SessionTasks:
    """The tasks of one session, as its tools see them."""

    def __init__(self, background: Background, database: Database, runtime: SessionRuntime) -> None:
        self._background = background
        self._database = database
        self._runtime = runtime

    def start(self, call: Call, label: str | None, work: Work, entry: str | None) -> ToolOutcome:
        """Start a call in the background. Raises: ToolError."""
        return self._background.start(self._runtime, call, label, work, entry)

    def table(self) -> Sequence[Mapping[str, Any]]:
        """The session's tasks, newest first."""
        listed: list[Mapping[str, Any]] = self._background.list(self._runtime.id)["tasks"]
        return listed

    def cancel(self, prefix: str) -> Sequence[str]:
        """Cancel the running task that `prefix` names, or `all`. Raises: ToolError when it names none."""
        rows = self._database.read(lambda tx: tasks.of_session(tx, self._runtime.id))
        running = [row.id for row in rows if row.status is TaskStatus.RUNNING]
        wanted = prefix.strip() or "?"
        named = running if wanted == "all" else [each for each in running if each.startswith(wanted)]
        if wanted != "all" and len(named) != 1:
            raise ToolError(
                f"'{prefix}' names {len(named) or 'no'} running task{'s' if named else ''} of this session"
            )
        self._background.cancel_all(self._runtime.id, named)
        return named

"""The checklist of a loaded session: folded from its conversation, announced when it changes."""

from meka.agent import checklist
from meka.agent.checklist import Checklist, TaskLookup
from meka.agent.runner import Emit
from meka.service.runtime import SessionRuntime


class SessionChecklist:
    """The list during one turn. What a call changed is known at once, from the log once its result is."""

    def __init__(self, runtime: SessionRuntime, emit: Emit) -> None:
        self._runtime = runtime
        self._emit = emit
        self._noted: Checklist | None = None
        self.tasks: TaskLookup = RuntimeTasks(runtime)

    def current(self) -> Checklist:
        """The list as it stands."""
        return self._noted or checklist_of(self._runtime)

    def note(self, changed: Checklist) -> None:
        """A call changed the list; its result is not in the log yet."""
        self._noted = changed

    def announce(self) -> None:
        """The round's results are in the log: say what the list is now, if it is another."""
        self._noted = None
        announce_checklist(self._runtime, self._emit)


class RuntimeTasks(TaskLookup):
    """The session's background tasks, as deferrals name them."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime

    def resolve(self, prefix: str) -> str | None:
        """The one task whose id begins so."""
        found = [task_id for task_id in self._runtime.known_tasks if task_id.startswith(prefix)]
        return found[0] if len(found) == 1 else None

    def is_reported(self, task_id: str) -> bool:
        """Whether its outcome has been reported; that of a task left behind by a fork never is."""
        return self._runtime.known_tasks.get(task_id, False)


def checklist_of(runtime: SessionRuntime) -> Checklist:
    """The list that the session's conversation adds up to; empty where the tools are filtered out."""
    if not runtime.keeps_checklist:
        return Checklist()
    stand = (runtime.conversation.revision, runtime.conversation.total, len(runtime.known_tasks))
    if runtime.folded is None or runtime.folded[0] != stand:
        boundary = runtime.conversation.boundary
        start = checklist.from_record(boundary.checklist) if boundary is not None else None
        resolve = RuntimeTasks(runtime).resolve
        folded = checklist.fold(runtime.conversation.since_boundary, resolve, start)
        runtime.folded = (stand, folded)
    return runtime.folded[1]


def announce_checklist(runtime: SessionRuntime, emit: Emit) -> None:
    """Publish the list where it is another than was last published."""
    shown = checklist.view(checklist_of(runtime))
    if shown != runtime.shown_checklist:
        runtime.shown_checklist = shown
        emit("checklist.updated", {"items": shown})

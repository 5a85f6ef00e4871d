"""Stand-ins that tests hand over by constructor: a clock, a scratchpad, a conversation, a tool's context."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from meka.agent.blocks import Message
from meka.agent.cancel import Cancel
from meka.agent.checklist import Checklist, TaskLookup
from meka.agent.tools.base import ReadTracker, ScratchpadEntry, Tool, ToolContext, WindowReport
from meka.base.clock import rfc3339
from meka.base.levels import Level


class FakeClock:
    """A clock that moves only when it is told to; `sleep` moves it at once."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._elapsed += seconds


class FakeScratchpad:
    """A scratchpad in memory. `inherit` adds a read-only entry."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self._clock = clock or FakeClock()
        self._entries: dict[str, ScratchpadEntry] = {}

    def get(self, name: str) -> ScratchpadEntry | None:
        return self._entries.get(name)

    def put(self, name: str, content: str) -> None:
        self._entries[name] = ScratchpadEntry(name, content, rfc3339(self._clock.now()))

    def inherit(self, name: str, content: str) -> None:
        self._entries[name] = ScratchpadEntry(name, content, rfc3339(self._clock.now()), "inherited")

    def delete(self, name: str) -> bool:
        return self._entries.pop(name, None) is not None

    def rename(self, old: str, new: str) -> None:
        entry = self._entries.pop(old)
        self._entries[new] = ScratchpadEntry(new, entry.content, entry.created_at, entry.origin)

    def entries(self) -> Sequence[ScratchpadEntry]:
        return tuple(self._entries.values())


class FakeConversation:
    """A conversation that holds what it was made with."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages = tuple(messages)

    def messages(self) -> Sequence[Message]:
        return self._messages


class FakeChecklist:
    """A checklist in memory; `tasks` knows none unless it is set."""

    def __init__(self) -> None:
        self.tasks = TaskLookup()
        self._current = Checklist()

    def current(self) -> Checklist:
        return self._current

    def note(self, changed: Checklist) -> None:
        self._current = changed


class FakeTasks:
    """Background tasks as rows that a test sets; `canceled` keeps what was asked."""

    def __init__(self, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        self.rows = list(rows)
        self.canceled: list[str] = []

    def table(self) -> Sequence[Mapping[str, Any]]:
        return self.rows

    def cancel(self, prefix: str) -> Sequence[str]:
        self.canceled.append(prefix)
        return [row["id"] for row in self.rows if row["id"].startswith(prefix)]


class FakeWindow:
    """A context window that a test sets; it keeps what was asked and handed over."""

    def __init__(self) -> None:
        self.shown = WindowReport(250, 1000, 850, 100, 50, 0)
        self.asked: list[tuple[str | None, bool | None]] = []
        self.summaries: list[tuple[str, bool | None]] = []

    def report(self) -> WindowReport:
        return self.shown

    def ask_to_compact(self, instructions: str | None, keep_recent: bool | None) -> None:
        self.asked.append((instructions, keep_recent))

    def hand_over(self, summary: str, keep_recent: bool | None) -> None:
        self.summaries.append((summary, keep_recent))


def run_inline(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`ToolContext.run_blocking` without a thread."""
    return function(*args, **kwargs)


def make_context(
    tmp_path: Path,
    *,
    level: Level | Callable[[], Level] = Level.WORKSPACE,
    roots: Sequence[Path] | None = None,
    messages: Sequence[Message] = (),
    scratchpad: FakeScratchpad | None = None,
    tools: Sequence[Tool] = (),
    active: Sequence[str] = (),
    emit_output: Callable[[str], None] | None = None,
    run_blocking: Callable[..., Any] = run_inline,
    context_room: int | None = None,
    unlimited: bool = False,
    expands_references: bool = False,
    checklist: FakeChecklist | None = None,
    tasks: FakeTasks | None = None,
    window: FakeWindow | None = None,
) -> ToolContext:
    """A context whose working directory is `tmp_path/work`; `config` and `data` beside it are private."""
    base = tmp_path.resolve()
    for name in ("work", "config/skills", "data"):
        (base / name).mkdir(parents=True, exist_ok=True)
    clock = FakeClock()
    current_level = level if callable(level) else lambda: level
    return ToolContext(
        session_id="00000000-0000-4000-8000-000000000001",
        call_id="call_000001",
        working_directory=base / "work",
        roots=tuple(roots) if roots is not None else (base / "work",),
        private_dirs=(base / "config", base / "data"),
        readable_private=(base / "config" / "skills",),
        level=current_level,
        cancel=Cancel(),
        clock=clock,
        reads=ReadTracker(),
        scratchpad=scratchpad or FakeScratchpad(clock),
        conversation=FakeConversation(messages),
        run_blocking=run_blocking,
        emit_output=emit_output or (lambda chunk: None),
        context_room=lambda: context_room,
        tools=lambda: tuple(tools),
        is_active=lambda name: name in active,
        checklist=checklist or FakeChecklist(),
        tasks=tasks or FakeTasks(),
        window=window or FakeWindow(),
        unlimited=unlimited,
        expands_references=expands_references,
    )

"""What a tool is, what it is handed, and what it gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from meka.agent.blocks import Message
from meka.agent.cancel import Cancel
from meka.agent.checklist import Checklist, TaskLookup
from meka.base.clock import Clock
from meka.base.levels import Level


class ToolError(Exception):
    """A call that did not work out; its sentence goes to the model behind `Tool error: `."""


@dataclass(frozen=True, slots=True)
class ImageData:
    """An image a tool made; the loop stores the bytes and puts an `Image` block in the result."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """What a call changed, whole text before and after; `old` None = created, `new` None = deleted."""

    path: str | None
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one call.

    `text` is what the model reads, `images` follow it. `is_error` marks a call that failed by its own account
    (a command that exited non-zero). `loaded` names deferred tools the call made callable; with `refers` the
    result refers to each of them, for the provider to expand.
    """

    text: str
    images: tuple[ImageData, ...] = ()
    is_error: bool = False
    change: Change | None = None
    loaded: tuple[str, ...] = ()
    refers: bool = False
    never_spill: bool = False


@dataclass(frozen=True, slots=True)
class ScratchpadEntry:
    """One entry; `origin` is `own` or `inherited` (read-only). `created_at` is RFC 3339."""

    name: str
    content: str
    created_at: str
    origin: str = "own"


class Scratchpad(Protocol):
    """The session's named texts; they survive restarts. Every method may wait for the store."""

    def get(self, name: str) -> ScratchpadEntry | None: ...
    def put(self, name: str, content: str) -> None: ...
    def delete(self, name: str) -> bool: ...
    def rename(self, old: str, new: str) -> None: ...
    def entries(self) -> Sequence[ScratchpadEntry]: ...


class ConversationReader(Protocol):
    """The whole log of the session's messages, compacted parts included, oldest first."""

    def messages(self) -> Sequence[Message]: ...


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when the model last read or wrote it."""

    mtime_ns: int
    size: int


@dataclass(slots=True)
class ReadTracker:
    """Which files the model has read in this session, and as what; cleared at compaction and at a load."""

    seen: dict[Path, FileState] = field(default_factory=dict)


class ChecklistPort(Protocol):
    """The session's checklist as its tools see it: `note` tells of a change before its call is in the log."""

    tasks: TaskLookup

    def current(self) -> Checklist: ...
    def note(self, changed: Checklist) -> None: ...


class BackgroundTasks(Protocol):
    """The session's background tasks as its tools see them."""

    def table(self) -> Sequence[Mapping[str, Any]]: ...
    def cancel(self, prefix: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class WindowReport:
    """The context window as a tool tells of it. Units: tokens; `verbatim` is what a compaction may keep."""

    used: int
    window: int
    ceiling: int
    verbatim: int
    overhead: int
    generation: int


class WindowPort(Protocol):
    """The context window as its tools see it.

    `ask_to_compact` takes one wish a turn and `hand_over` a checkpoint's summary. Raises: ToolError.
    """

    def report(self) -> WindowReport: ...
    def ask_to_compact(self, instructions: str | None, keep_recent: bool | None) -> None: ...
    def hand_over(self, summary: str, keep_recent: bool | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call may use. Everything that waits lets the hub run.

    `roots`: canonical writable roots (the working directory first). `private_dirs`: meka's own config and
    data directories; `readable_private`: the parts of them any level may read (`<config>/skills`);
    `find_displaced`: one of the private ones that no longer stands where it stood.
    `run_blocking` runs a function in a native thread (no gevent object inside it).
    `emit_output(chunk)` publishes progress of this call. `level()` is the level at this moment.
    `context_room()` is how many bytes the context window still has room for, or None when unknown.
    `tools()` lists every tool of the session; `active` the names whose schemas the model already has.
    """

    session_id: str
    call_id: str
    working_directory: Path
    roots: tuple[Path, ...]
    private_dirs: tuple[Path, ...]
    readable_private: tuple[Path, ...]
    level: Callable[[], Level]
    cancel: Cancel
    clock: Clock
    reads: ReadTracker
    scratchpad: Scratchpad
    conversation: ConversationReader
    run_blocking: Callable[..., Any]
    emit_output: Callable[[str], None]
    context_room: Callable[[], int | None]
    tools: Callable[[], Sequence["Tool"]]
    is_active: Callable[[str], bool]
    checklist: ChecklistPort
    tasks: BackgroundTasks
    window: WindowPort
    unlimited: bool = False
    """True when the call's whole result goes to the scratchpad: default caps do not apply."""
    expands_references: bool = False
    """True where the provider shows the model a tool's schema where a result refers to it."""
    find_displaced: Callable[[], Path | None] = lambda: None


class Tool(Protocol):
    """One tool. Instances hold no per-session state.

    `summary_argument`: the argument `display_summary` shows, or None. `takes_scratchpad`: whether the
    `scratchpad` parameter is advertised in the schema (it works on every tool). `deferred`: not sent to the
    model until loaded. `serial`: calls of one message run in source order, one after another (checklist).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    level: Level
    summary_argument: str | None
    takes_scratchpad: bool
    deferred: bool
    serial: bool

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Run one call; `arguments` were checked against `parameters` by the caller.

        Raises: ToolError.
        """

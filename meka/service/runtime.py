"""One loaded session: what this process holds of it, and the one slot that a turn or a write takes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gevent.event import AsyncResult

from meka.agent.context import World
from meka.agent.conversation import Conversation
from meka.agent.tools.base import ReadTracker
from meka.agent.turn import Ending, Turn
from meka.base.errors import TurnInFlightError
from meka.base.levels import Level
from meka.schema.events import EVENTS
from meka.service.feed import Feed
from meka.service.models import Model
from meka.store.locks import SessionLock
from meka.store.sessions import SessionRow


@dataclass(slots=True, eq=False)
class ActiveTurn:
    """A turn that is running. `begun` resolves when its opening is stored, or with why it never was;
    `done` with its ending. `listeners` counts the requests that hold it; `left_at` is the monotonic second
    at which the last of them left."""

    turn: Turn
    held: bool
    streaming: bool
    begun: AsyncResult = field(default_factory=AsyncResult)
    done: AsyncResult = field(default_factory=AsyncResult)
    listeners: int = 1
    left_at: float = 0.0
    ending: Ending | None = None


class Held:
    """The slot is taken by a write of the session's row."""


@dataclass(slots=True, eq=False)
class SessionRuntime:
    """A session in memory. `row` is its row as last written; level, approvals and directory are live."""

    row: SessionRow
    lock: SessionLock
    conversation: Conversation
    feed: Feed
    system_prompt: str
    reads: ReadTracker = field(default_factory=ReadTracker)
    world: World | None = None
    resumed: bool = False
    loaded_tools: tuple[str, ...] = ()
    model: Model | None = None
    context_tokens: int = 0
    slot: ActiveTurn | Held | None = None
    last_used: float = 0.0

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def level(self) -> Level:
        """The level in force at this moment."""
        return Level(self.row.permission)

    @property
    def working_directory(self) -> Path:
        return Path(self.row.working_directory or "/")

    @property
    def active(self) -> ActiveTurn | None:
        """The turn in flight, if there is one."""
        return self.slot if isinstance(self.slot, ActiveTurn) else None

    def take(self, holder: ActiveTurn | Held) -> None:
        """Take the slot. Raises: TurnInFlightError when it is taken."""
        if self.slot is not None:
            raise TurnInFlightError(self.id)
        self.slot = holder

    def free(self, holder: ActiveTurn | Held) -> None:
        """Give the slot back."""
        if self.slot is holder:
            self.slot = None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep turns out while the session's row is written. Raises: TurnInFlightError."""
        holder = Held()
        self.take(holder)
        try:
            yield
        finally:
            self.free(holder)

    def note_loaded(self, names: Sequence[str]) -> None:
        """Deferred tools became callable."""
        self.loaded_tools = tuple(dict.fromkeys((*self.loaded_tools, *names)))

    def emit(self, name: str, payload: Mapping[str, Any], turn_id: str | None) -> None:
        """Publish an event, of a turn where one is named."""
        kind = EVENTS[name]
        self.feed.publish(name, payload, turn_id, numbered=kind.numbered, terminal=kind.terminal)

"""One loaded session: what this process holds of it, and the one slot that a turn or a write takes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gevent.event import AsyncResult, Event

from meka.agent.checklist import Checklist
from meka.agent.context import World
from meka.agent.conversation import Conversation
from meka.agent.permission import Verdict
from meka.agent.tools.base import ReadTracker
from meka.agent.turn import Ending, Turn
from meka.base.errors import TurnInFlightError
from meka.base.levels import Level
from meka.schema.events import EVENTS
from meka.service.feed import Feed
from meka.service.models import Model
from meka.store.locks import SessionLock
from meka.store.sessions import SessionRow

_TURN_STREAM = "turn"


@dataclass(slots=True, eq=False)
class ActiveTurn:
    """A turn that is running. `begun` resolves when its opening is stored, or with why it never was;
    `done` with its ending. `listeners` counts the requests that listen to it. `is_announced` says that
    readers were told of it, `opened_id` under which id they were told of its opening."""

    turn: Turn
    held: bool
    streaming: bool
    begun: AsyncResult = field(default_factory=AsyncResult)
    done: AsyncResult = field(default_factory=AsyncResult)
    listeners: int = 1
    ending: Ending | None = None
    is_announced: bool = False
    opened_id: int | None = None

    def note(self, name: str, event_id: int) -> None:
        """An event of the turn was published: that it began, and the id of its opening, are kept."""
        if name == "turn.started":
            self.is_announced = True
        elif name == "message.appended" and self.opened_id is None:
            self.opened_id = event_id


class Held:
    """The slot is taken by a write of the session's row."""


@dataclass(slots=True, eq=False)
class SessionRuntime:
    """A session in memory. `row` is its row as last written; level, approvals and directory are live.

    `name_in_doubt` says that the profile may have another name by now. `attending` counts the readers that
    answer prompts, `keepers` those that keep the session loaded; `parked` holds the prompts that wait,
    `remembered` the answers that stick to a tool. `taken` are inbox items that a turn has taken in,
    `appended` those of them that no provider has accepted yet. `known_tasks`
    says of each background task whether its end was reported, `running_tasks` holds the labels of those that
    run. `may_wait` is False while the store is known to hold no item that waits: nobody has to look then.
    `folded` is the checklist as of that state of the conversation, `overhead` what every request takes with
    those tools; `context_tokens` is the occupancy as last measured, 0 where nothing has since a compaction.
    """

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
    name_in_doubt: bool = False
    context_tokens: int = 0
    has_run: bool = False
    overhead: tuple[tuple[bool, tuple[str, ...]], int] | None = None
    slot: ActiveTurn | Held | None = None
    last_used: float = 0.0
    attending: int = 0
    keepers: int = 0
    left_at: float = 0.0
    attendance: Event = field(default_factory=Event)
    freed: Event = field(default_factory=Event)
    interrupt: Event = field(default_factory=Event)
    landed: Event = field(default_factory=Event)
    may_wait: bool = True
    parked: dict[str, Any] = field(default_factory=dict)
    remembered: dict[str, Verdict] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    appended: dict[str, None] = field(default_factory=dict)
    known_tasks: dict[str, bool] = field(default_factory=dict)
    running_tasks: dict[str, str] = field(default_factory=dict)
    keeps_checklist: bool = True
    shown_checklist: list[dict[str, Any]] = field(default_factory=list)
    folded: tuple[tuple[int, int, int], Checklist] | None = None

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

    def rename_fallback(self, old: str, new: str) -> None:
        """A profile that may stand in for the session's was renamed."""
        if self.model is not None and old in self.model.profile.fallbacks:
            names = tuple(new if name == old else name for name in self.model.profile.fallbacks)
            self.model = replace(self.model, profile=replace(self.model.profile, fallbacks=names))

    def take_profile_name(self, name: str) -> None:
        """The session's profile was renamed: it goes on with its provider, under the new name."""
        self.row = replace(self.row, profile=name)
        if self.model is not None:
            self.model = replace(self.model, profile=replace(self.model.profile, name=name))

    @property
    def active(self) -> ActiveTurn | None:
        """The turn in flight, if there is one."""
        return self.slot if isinstance(self.slot, ActiveTurn) else None

    def take(self, holder: ActiveTurn | Held) -> None:
        """Take the slot. Raises: TurnInFlightError when it is taken."""
        if self.slot is not None:
            raise TurnInFlightError(self.id)
        self.slot = holder
        self.freed.clear()

    def free(self, holder: ActiveTurn | Held) -> None:
        """Give the slot back."""
        if self.slot is holder:
            self.slot = None
            self.freed.set()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep turns out while the session's row is written. Raises: TurnInFlightError."""
        holder = Held()
        self.take(holder)
        try:
            yield
        finally:
            self.free(holder)

    def note_leaving(self, moment: float) -> None:
        """Someone who listened left, at this monotonic second."""
        self.left_at = moment
        self.attendance.set()

    def note_landed(self, *, cuts: bool) -> None:
        """An inbox item is in the store now; one that `cuts` ends a reply that is being written."""
        self.landed.set()
        self.may_wait = True
        if cuts and self.active is not None:
            self.interrupt.set()

    @property
    def owes_report(self) -> bool:
        """Whether a background task runs, or has ended and was not reported."""
        return not all(self.known_tasks.values())

    def note_loaded(self, names: Sequence[str]) -> None:
        """Deferred tools became callable."""
        self.loaded_tools = tuple(dict.fromkeys((*self.loaded_tools, *names)))

    def forget_what_was_told(self) -> None:
        """The conversation was compacted: the model no longer sees what it read and what it was told."""
        self.reads.seen.clear()
        self.world = None
        self.context_tokens = 0

    def observe(self, name: str, payload: Mapping[str, Any]) -> None:
        """What readers of the feed were just told, as far as it is of the turn in flight."""
        active = self.active
        if active is not None and active.turn.id == payload.get("turn_id"):
            active.note(name, self.feed.next_id - 1)

    def emit(
        self,
        name: str,
        payload: Mapping[str, Any],
        turn_id: str | None,
        request_id: str | None = None,
    ) -> int | None:
        """Publish an event, of a turn where one is named. Shape: its id, where it is numbered."""
        kind = EVENTS[name]
        return self.feed.publish(
            name,
            payload,
            turn_id,
            numbered=kind.numbered,
            terminal=kind.terminal,
            on_turn_stream=_TURN_STREAM in kind.feeds,
            request_id=request_id,
        )

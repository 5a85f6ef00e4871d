"""What one turn is: what it opens with, what it is given, and how it ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from meka.agent.asking import FallBack, stay
from meka.agent.blocks import Block, TurnContext
from meka.agent.cancel import Cancel
from meka.agent.checklist import Checklist
from meka.agent.compaction import CompactionPorts, Wish
from meka.agent.conversation import Conversation, Entry
from meka.agent.mail import Letters, Mail
from meka.agent.providers.base import LoadImage, Provider, StopReason, Usage
from meka.agent.runner import CallRunner, Emit
from meka.base.clock import Clock
from meka.base.errors import MekaError
from meka.store.connection import Tx
from meka.store.database import Database


class Source(StrEnum):
    """Who opened a turn."""

    CLIENT = "client"
    INBOX = "inbox"
    SCHEDULE = "schedule"
    BACKGROUND = "background"
    COMPACTION = "compaction"  # POST /compact, which leaves no row
    PARENT = "parent"


class Status(StrEnum):
    """How a turn ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Ending:
    """A turn's end. `reason` when it was canceled, `error` when it failed, a stop reason else."""

    status: Status
    usage: Usage
    stop_reason: StopReason | None = None
    refusal_text: str = ""
    error: MekaError | None = None
    reason: str | None = None
    message_withdrawn: bool | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class TurnPorts:
    """What a turn is handed by its session.

    `loaded_tools()` names the deferred tools in force; `is_abandoned()` says at a boundary that nobody is
    left for whom the turn runs; `checklist()` is the list as it stands, empty where the feature is off, and
    `note_checklist()` announces it when it changed. Without a `window` the conversation is never compacted.
    """

    database: Database
    conversation: Conversation
    provider: Provider
    runner: CallRunner
    system_prompt: str
    load_image: LoadImage
    emit: Emit
    notify: Callable[[str, str], None]
    clock: Clock
    streams: bool
    relay_errors: bool
    loaded_tools: Callable[[], Sequence[str]]
    note_loaded: Callable[[Sequence[str]], None]
    is_abandoned: Callable[[], bool]
    mail: Mail
    checklist: Callable[[], Checklist]
    note_checklist: Callable[[], None]
    shows_reasoning: Callable[[], bool]
    reasoning_is_watched: Callable[[], bool]
    window: "WindowPorts | None" = None
    fall_back: FallBack = stay


@dataclass(frozen=True, slots=True)
class WindowPorts:
    """What keeps the context window from filling up. `automatic` False leaves it to a client and the agent;
    `retention_seconds` is how old a turn may get, `fresh_context()` what the model is told once more."""

    compaction: CompactionPorts
    ceiling_percent: int
    automatic: bool
    retention_seconds: float | None
    fresh_context: Callable[[], TurnContext]


@dataclass(slots=True)
class Turn:
    """One turn as it runs. `opening` is the whole first message; `withdraws` that an unanswered one is
    taken back; `entries` what the turn has added to the conversation so far; `accepted_seq` the last row that
    a provider has accepted; `is_answering` that readers saw of the reply at hand; `compaction_wish` what the
    agent asked for, until the round is over. `served_by` names a fallback profile that answered."""

    id: str
    session_id: str
    source: Source
    permission: str
    started_at: datetime
    opening: tuple[Block, ...]
    withdraws: bool
    cancel: Cancel
    started_extra: Mapping[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    notices: list[Mapping[str, str]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    asked_for_words: bool = False
    nudges_in_a_row: int = 0
    nudges: int = 0
    on_open: Callable[[Tx], None] | None = None
    on_end: Callable[[Tx, Ending], None] | None = None
    first_words: str | None = None
    letters: Letters | None = None
    context_tokens: int | None = None
    accepted_seq: int = 0
    is_answering: bool = False
    asked_to_compact: bool = False
    compaction_wish: Wish | None = None
    over_ceiling: bool = False
    rescued: bool = False
    served_by: str | None = None

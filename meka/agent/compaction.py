"""Compaction: a summary takes the place of the conversation so far. Read `compact` first.

It announces itself, has a summary made (by the model itself at a checkpoint, else by the summarizer), and
then replaces the view in one transaction. A compaction that fails leaves the conversation as it was.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from meka.agent.blocks import Block, TurnContext
from meka.agent.cancel import Cancel, CanceledError
from meka.agent.checklist import Checklist
from meka.agent.checklist import to_record as checklist_record
from meka.agent.checkpoint import CheckpointPorts, Handover, run_checkpoint
from meka.agent.conversation import Conversation
from meka.agent.failures import failure_of
from meka.agent.keeping import Kept, Split, choose, split
from meka.agent.occupancy import Occupancy, verbatim_budget
from meka.agent.providers.base import ProviderError, Usage
from meka.agent.summarizer import summarize
from meka.agent.summary import SummaryParts, summary_blocks
from meka.base.errors import InternalError, MekaError, problem_of

LOG = logging.getLogger(__name__)


class Trigger(StrEnum):
    """What set a compaction going."""

    REACTIVE = "reactive"  # the measured occupancy crossed the ceiling
    PROACTIVE = "proactive"  # the projected request would cross it
    MANUAL = "manual"  # a client asked
    REQUESTED = "requested"  # the agent asked
    EMERGENCY = "emergency"  # the provider refused the request as too large
    RETENTION = "retention"  # a turn is older than turns may get


class SummarySource(StrEnum):
    """Who wrote the summary."""

    CHECKPOINT = "checkpoint"
    SUMMARIZER = "summarizer"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a compaction is asked to do; None leaves it to meka."""

    instructions: str | None = None
    keep_recent: bool | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One compaction. `answering`, `context` as in `SummaryParts`; nothing before `not_before` is kept."""

    trigger: Trigger
    wish: Wish = field(default_factory=Wish)
    answering: str = ""
    context: Callable[[], TurnContext] | None = None
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class CompactionPorts:
    """What compacting takes. `checkpoints` says whether the model itself may be asked; `on_replaced` forgets
    what the model no longer sees; `add_usage` counts what was spent."""

    conversation: Conversation
    checkpoint: CheckpointPorts
    checkpoints: Callable[[], bool]
    occupancy: Callable[[], Occupancy]
    checklist: Callable[[], Checklist]
    loaded_tools: Callable[[], tuple[str, ...]]
    on_replaced: Callable[[], None]
    add_usage: Callable[[Usage], None]
    relay_errors: bool
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did; the members of `marker` are what clients read on the summary."""

    marker: Mapping[str, Any]
    messages_before: int
    messages_after: int


def can_compact(conversation: Conversation) -> bool:
    """Whether there is anything to summarize."""
    return split(conversation.entries).is_worth_it


def compact(job: Job, ports: CompactionPorts, cancel: Cancel) -> Compacted:
    """Replace the conversation by a summary and what stays of it; there has to be something to summarize.

    Raises: CanceledError, ProviderError, MekaError; the conversation is unchanged then.
    """
    compaction_id = ports.new_id()
    told = {"compaction_id": compaction_id, "trigger": job.trigger.value}
    ports.checkpoint.emit("context.compacting", told)
    handover = Handover()
    try:
        done = _compact(job, ports, cancel, handover)
    except BaseException as error:
        ports.checkpoint.emit("context.compaction_failed", told | _why(error, ports.relay_errors))
        raise
    finally:
        ports.add_usage(handover.usage)
    ports.checkpoint.emit("context.compacted", {"compaction_id": compaction_id, **done.marker})
    return done


def _compact(job: Job, ports: CompactionPorts, cancel: Cancel, handover: Handover) -> Compacted:
    parts = split(ports.conversation.entries)
    source = _write_summary(job, parts, ports, cancel, handover)
    cancel.check()
    kept = _choose(job, parts, ports, handover)
    before = ports.conversation.total
    marker = {
        "trigger": job.trigger.value,
        "source": source.value,
        "memories_written": list(dict.fromkeys(handover.memories)),
        "kept_recent": bool(kept.tail),
        "replaced_count": before,
        "generation": ports.conversation.generation + 1,
    }
    current = ports.checklist()
    ports.conversation.replace(
        _blocks(job, kept, current, handover),
        [*kept.tail, *parts.asked],
        marker,
        checklist=checklist_record(current),
        loaded_tools=list(ports.loaded_tools()),
    )
    ports.on_replaced()
    return Compacted(marker, before, ports.conversation.total)


def _write_summary(
    job: Job, parts: Split, ports: CompactionPorts, cancel: Cancel, handover: Handover
) -> SummarySource:
    """Have the summary made, by whoever can. Raises: CanceledError, ProviderError."""
    messages = [entry.message for entry in parts.settled]
    if job.trigger is not Trigger.EMERGENCY and ports.checkpoints():
        try:
            run_checkpoint(messages, job.wish.instructions, ports.checkpoint, cancel, handover)
        except ProviderError as error:
            LOG.warning("a checkpoint failed", extra={"cause": error.cause.value, "upstream": error.upstream})
        if handover.summary is not None:
            return SummarySource.CHECKPOINT
    state = ports.occupancy()
    room = min(state.window, state.used) if job.trigger is Trigger.EMERGENCY else state.window
    summarize(messages, job.wish.instructions, room, ports.checkpoint, cancel, handover)
    return SummarySource.SUMMARIZER


def _choose(job: Job, parts: Split, ports: CompactionPorts, handover: Handover) -> Kept:
    wishes = (handover.keep_recent, job.wish.keep_recent, True)
    keep_tail = next(wish for wish in wishes if wish is not None)
    budget = verbatim_budget(ports.occupancy().window)
    return choose(parts.settled, budget, keep_tail=keep_tail, not_before=job.not_before)


def _blocks(job: Job, kept: Kept, current: Checklist, handover: Handover) -> tuple[Block, ...]:
    return summary_blocks(
        SummaryParts(
            summary=handover.summary or "",
            quotes=kept.quotes,
            checklist=current,
            answering=job.answering,
            context=job.context() if job.context is not None else None,
        )
    )


def _why(error: BaseException, relay_errors: bool) -> dict[str, Any]:
    """How a failed compaction is told."""
    if isinstance(error, CanceledError) or not isinstance(error, Exception):
        return {"interrupted": True}
    if isinstance(error, ProviderError):
        shown: MekaError = failure_of(error, relay_errors)
    else:
        shown = error if isinstance(error, MekaError) else InternalError()
    return {"interrupted": False, "error": problem_of(shown)}

"""Keeps a turn's conversation inside the model's window: what is compacted when, while the turn runs."""

import logging
from datetime import timedelta

from meka.agent.cancel import CanceledError
from meka.agent.compaction import Compacted, Job, Trigger, can_compact, compact
from meka.agent.keeping import is_summary, split, words_of
from meka.agent.occupancy import ceiling
from meka.agent.turn import Turn, TurnPorts, WindowPorts

LOG = logging.getLogger(__name__)


def tend_opening(turn: Turn, ports: TurnPorts) -> None:
    """Before a turn's first request: let go of turns that are too old. Raises: CanceledError."""
    window = ports.window
    if window is None or window.retention_seconds is None:
        return
    cutoff = ports.clock.now() - timedelta(seconds=window.retention_seconds)
    settled = split(ports.conversation.entries).settled
    if any(entry.created_at < cutoff for entry in settled if not is_summary(entry)):
        _try(turn, window, Job(Trigger.RETENTION, not_before=cutoff))


def tend_round(turn: Turn, ports: TurnPorts) -> None:
    """Before each request: what the agent asked for, then the ceiling. Raises: CanceledError."""
    window = ports.window
    if window is None:
        return
    if turn.compaction_wish is not None:
        wish, turn.compaction_wish = turn.compaction_wish, None
        _try(turn, window, Job(Trigger.REQUESTED, wish))
    if window.automatic:
        _watch_ceiling(turn, window)


def _watch_ceiling(turn: Turn, window: WindowPorts) -> None:
    """Compact where the ceiling is crossed; once a crossing, so that what does not help is not repeated."""
    state = window.compaction.occupancy()
    if not state.is_above(window.ceiling_percent):
        turn.over_ceiling = False
        return
    if turn.over_ceiling:
        return
    turn.over_ceiling = True
    is_measured = state.measured > ceiling(state.window, window.ceiling_percent)
    _try(turn, window, Job(Trigger.REACTIVE if is_measured else Trigger.PROACTIVE))


def rescue(turn: Turn, ports: TurnPorts) -> bool:
    """Once a turn, make room for a request that was refused as too large; whether there is any now.

    Raises: CanceledError.
    """
    window = ports.window
    if window is None or not window.automatic or turn.rescued:
        return False
    turn.rescued = True
    return _try(turn, window, Job(Trigger.EMERGENCY)) is not None


def _try(turn: Turn, window: WindowPorts, job: Job) -> Compacted | None:
    """Compact as far as that goes: where it fails the turn goes on with the conversation as it is."""
    ports = window.compaction
    if not can_compact(ports.conversation):
        return None
    try:
        done = compact(_in_turn(turn, window, job), ports, turn.cancel)
    except CanceledError:
        raise
    except Exception as error:
        LOG.warning(
            "a compaction failed: %s", error, extra={"turn_id": turn.id, "trigger": job.trigger.value}
        )
        return None
    turn.context_tokens = 0
    return done


def _in_turn(turn: Turn, window: WindowPorts, job: Job) -> Job:
    """The job, with what the model needs to go on with its turn."""
    return Job(job.trigger, job.wish, _request_of(turn), window.fresh_context, job.not_before)


def _request_of(turn: Turn) -> str:
    """What the turn works on, where its opening is going to be replaced."""
    return words_of(turn.entries[0].message) if len(turn.entries) > 1 else ""

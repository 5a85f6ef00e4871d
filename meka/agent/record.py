"""The units of work that keep a turn's row and its session's row in step with the conversation."""

from collections.abc import Sequence

from meka.agent.conversation import Unit
from meka.agent.providers.base import Usage
from meka.agent.turn import Ending, Turn
from meka.store import sessions, turns
from meka.store.connection import Tx
from meka.store.messages import LogRow
from meka.store.sessions import SessionChanges
from meka.store.turns import TurnUsage


def open_unit(turn: Turn) -> Unit:
    """Begin the turn's row beside its opening message."""

    def unit(tx: Tx, rows: Sequence[LogRow]) -> None:
        turns.start(
            tx,
            turn.session_id,
            turn.id,
            source=turn.source.value,
            permission=turn.permission,
            started_at=turn.started_at,
        )
        sessions.change(tx, turn.session_id, touch=True)
        if turn.first_words is not None:
            sessions.note_first_words(tx, turn.session_id, turn.first_words)
        if turn.letters is not None:
            turn.letters.unit(tx, rows)
        if turn.on_open is not None:
            turn.on_open(tx)

    return unit


def finish_unit(turn: Turn, ending: Ending) -> Unit:
    """Close the turn's row; the session counts as updated, and keeps what its window holds."""

    def unit(tx: Tx, _rows: Sequence[LogRow]) -> None:
        turns.finish(
            tx,
            turn.session_id,
            turn.id,
            status=ending.status.value,
            stop_reason=ending.stop_reason.value if ending.stop_reason else None,
            error_type=ending.error.type if ending.error else None,
            error_detail=ending.error.detail if ending.error else None,
            profile=turn.served_by,
            usage=turn_usage(ending.usage),
        )
        if turn.on_end is not None:
            turn.on_end(tx, ending)
        changes: SessionChanges = {}
        if turn.context_tokens is not None:
            changes["context_tokens"] = turn.context_tokens
        if ending.message_withdrawn and turn.first_words is not None:
            changes["first_words"] = None
        sessions.change(tx, turn.session_id, touch=True, **changes)

    return unit


def turn_usage(usage: Usage) -> TurnUsage:
    """A turn's counters as its row keeps them."""
    return TurnUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
    )

"""Turns: a row when one begins, its ending when it has one; a row without an ending died with its process."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from peewee import fn

from meka.base.text import scrub
from meka.store.codec import from_micros, optional_moment, to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, TURNS

_COUNTERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

# What a double holds exactly; a provider's nonsense beyond it must not make a row or a sum fail.
_COUNTER_LIMIT = 2**53


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The tokens of a turn, summed over its requests."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn; `ended_at` and `status` come together, `profile` only when a fallback served it."""

    id: str
    session_id: str
    source: str
    started_at: datetime
    permission: str
    ended_at: datetime | None = None
    status: str | None = None
    stop_reason: str | None = None
    error_type: str | None = None
    error_detail: str | None = None
    profile: str | None = None
    usage: TurnUsage = TurnUsage()


def start(
    tx: Tx, session_id: str, turn_id: str, *, source: str, permission: str, started_at: datetime | None = None
) -> TurnRow:
    """Add the row of a turn that begins (now, unless an archive says when)."""
    row = TurnRow(turn_id, session_id, source, started_at or tx.now(), permission)
    return add(tx, row)


def add(tx: Tx, row: TurnRow) -> TurnRow:
    """Add a row as it stands: an imported or forked turn keeps its ending."""
    values: dict[str, Any] = {
        TURNS.id: row.id,
        TURNS.session_id: row.session_id,
        TURNS.source: row.source,
        TURNS.started_at: to_micros(row.started_at),
        TURNS.permission: row.permission,
        TURNS.ended_at: None if row.ended_at is None else to_micros(row.ended_at),
        TURNS.status: row.status,
        TURNS.stop_reason: row.stop_reason,
        TURNS.error_type: row.error_type,
        TURNS.error_detail: None if row.error_detail is None else scrub(row.error_detail),
        TURNS.profile: row.profile,
    }
    tx.execute(TURNS.insert(values | _usage_columns(row.usage)))
    return row


def update(
    tx: Tx,
    session_id: str,
    turn_id: str,
    *,
    permission: str | None = None,
    profile: str | None = None,
    usage: TurnUsage | None = None,
) -> None:
    """Change what is known of a running turn; what is None stays. `usage` replaces what was there."""
    values = _known(permission=permission, profile=profile, usage=usage)
    if values:
        tx.execute(TURNS.update(values).where(_is(session_id, turn_id)))


def finish(
    tx: Tx,
    session_id: str,
    turn_id: str,
    *,
    status: str,
    stop_reason: str | None = None,
    error_type: str | None = None,
    error_detail: str | None = None,
    profile: str | None = None,
    usage: TurnUsage | None = None,
) -> bool:
    """Give a turn its ending, once; whether this was it."""
    ending: dict[Any, Any] = {
        TURNS.ended_at: to_micros(tx.now()),
        TURNS.status: status,
        TURNS.stop_reason: stop_reason,
        TURNS.error_type: error_type,
        TURNS.error_detail: None if error_detail is None else scrub(error_detail),
    }
    ending |= _known(profile=profile, usage=usage)
    return tx.execute(TURNS.update(ending).where(_is(session_id, turn_id) & TURNS.ended_at.is_null())) > 0


def get(tx: Tx, session_id: str, turn_id: str) -> TurnRow | None:
    """One turn of a session."""
    row = tx.row(TURNS.select(ALL).where(_is(session_id, turn_id)))
    return None if row is None else _turn(row)


def list_page(
    tx: Tx, session_id: str, *, limit: int, before: str | None = None
) -> tuple[list[TurnRow], str | None]:
    """A page of a session's turns, newest first.

    Shape: the turns, and what to pass as `before` for the next page (None on the last). A `before` that is no
    turn of the session finds nothing.
    """
    query = TURNS.select(ALL).where(TURNS.session_id == session_id)
    if before is not None:
        mark = TURNS.select(TURNS.seq).where(_is(session_id, before))
        query = query.where(TURNS.seq < mark)
    rows = tx.rows(query.order_by(TURNS.seq.desc()).limit(limit + 1))
    turns = [_turn(row) for row in rows[:limit]]
    return turns, turns[-1].id if len(rows) > limit else None


def last_of(tx: Tx, session_ids: Iterable[str]) -> dict[str, TurnRow]:
    """The latest turn of each session that has one, by session id."""
    newest = (
        TURNS.select(fn.MAX(TURNS.seq))
        .where(TURNS.session_id.in_(list(session_ids)))
        .group_by(TURNS.session_id)
    )
    rows = tx.rows(TURNS.select(ALL).where(TURNS.seq.in_(newest)))
    return {row["session_id"]: _turn(row) for row in rows}


def left_open(tx: Tx, source: str) -> list[str]:
    """The sessions whose latest turn was opened by `source` and has no ending: it runs, or died."""
    rows = tx.sql(
        """SELECT session_id FROM turns AS turn WHERE ended_at IS NULL AND source = ? AND NOT EXISTS (
            SELECT 1 FROM turns WHERE session_id = turn.session_id AND seq > turn.seq
        )""",
        (source,),
    )
    return [row[0] for row in rows]


def usage_of(tx: Tx, session_id: str) -> TurnUsage:
    """The tokens of all turns of a session together."""
    sums = [fn.COALESCE(fn.SUM(getattr(TURNS, name)), 0).alias(name) for name in _COUNTERS]
    return TurnUsage(**(tx.row(TURNS.select(*sums).where(TURNS.session_id == session_id)) or {}))


def count(tx: Tx, session_id: str) -> int:
    """How many turns began in a session."""
    row = tx.row(TURNS.select(fn.COUNT(TURNS.seq).alias("count")).where(TURNS.session_id == session_id))
    return 0 if row is None else int(row["count"])


def copy(tx: Tx, from_session_id: str, to_session_id: str) -> None:
    """Give another session (a fork) the same turns, in the same order."""
    for row in all_of(tx, from_session_id):
        add(tx, replace(row, session_id=to_session_id))


def all_of(tx: Tx, session_id: str) -> list[TurnRow]:
    """Every turn of a session, oldest first."""
    query = TURNS.select(ALL).where(TURNS.session_id == session_id).order_by(TURNS.seq)
    return [_turn(row) for row in tx.rows(query)]


def _is(session_id: str, turn_id: str) -> Any:
    return (TURNS.session_id == session_id) & (TURNS.id == turn_id)


def _known(
    *, permission: str | None = None, profile: str | None = None, usage: TurnUsage | None = None
) -> dict[Any, Any]:
    values: dict[Any, Any] = {} if usage is None else _usage_columns(usage)
    if permission is not None:
        values[TURNS.permission] = permission
    if profile is not None:
        values[TURNS.profile] = profile
    return values


def _usage_columns(usage: TurnUsage) -> dict[Any, int]:
    return {getattr(TURNS, name): min(getattr(usage, name), _COUNTER_LIMIT) for name in _COUNTERS}


def _turn(row: dict[str, Any]) -> TurnRow:
    return TurnRow(
        id=row["id"],
        session_id=row["session_id"],
        source=row["source"],
        started_at=from_micros(row["started_at"]),
        permission=row["permission"],
        ended_at=optional_moment(row["ended_at"]),
        status=row["status"],
        stop_reason=row["stop_reason"],
        error_type=row["error_type"],
        error_detail=row["error_detail"],
        profile=row["profile"],
        usage=TurnUsage(**{name: row[name] for name in _COUNTERS}),
    )

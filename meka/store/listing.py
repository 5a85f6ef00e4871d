"""The listing of sessions: pinned ones first, newest pin on top, then the rest, latest update first.

The two parts are read apart, each along an index in its order, so that a page costs what it holds and not
what the store holds. Equal moments are told apart by id.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from peewee import SQL, Expression, Tuple

from meka.store.codec import to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, SESSIONS
from meka.store.sessions import SessionRow, sessions_of


class Cursor(NamedTuple):
    """Where a page ended: its last session's place in the order. Units: microseconds since 1970."""

    pinned: bool
    moment_micros: int
    id: str


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions a listing keeps; None keeps all. With `parent`, that session's children."""

    include_children: bool = False
    working_directory: str | None = None
    parent: str | None = None
    profile: str | None = None
    project: str | None = None
    pinned: bool | None = None
    updated_since: datetime | None = None


def list_page(
    tx: Tx, *, limit: int, cursor: Cursor | None = None, where: SessionFilter | None = None
) -> tuple[list[SessionRow], Cursor | None]:
    """A page of sessions. Shape: the sessions, and the cursor of the next page (None on the last)."""
    where = where or SessionFilter()
    rows: list[dict[str, Any]] = []
    for pinned in _parts(where, cursor):
        query = part_query(where, pinned, cursor if cursor is not None and cursor.pinned is pinned else None)
        rows += tx.rows(query.limit(limit + 1 - len(rows)))
        if len(rows) > limit:
            break
    page = rows[:limit]
    return sessions_of(tx, page), _cursor_at(page[-1]) if len(rows) > limit else None


def _parts(where: SessionFilter, cursor: Cursor | None) -> list[bool]:
    """Which of the two parts (pinned: True) are still to be read, in order."""
    parts = [True, False] if cursor is None or cursor.pinned else [False]
    return [pinned for pinned in parts if where.pinned is None or where.pinned is pinned]


def part_query(where: SessionFilter, pinned: bool, after: Cursor | None) -> Any:
    """One part of a page: the pinned sessions or the others, in order, from after a place."""
    moment = SESSIONS.pinned_at if pinned else SESSIONS.updated_at
    query = SESSIONS.select(ALL).where(SESSIONS.pinned_at.is_null(not pinned), *_conditions(where, pinned))
    if after is not None:
        # A row value, so that SQLite seeks to the place instead of walking there.
        query = query.where(Tuple(moment, SESSIONS.id) < (after.moment_micros, after.id))
    return query.order_by(moment.desc(), SESSIONS.id.desc())


def _conditions(where: SessionFilter, pinned: bool) -> list[Any]:
    def column(named: Any) -> Any:
        # Pinned sessions are few: a unary plus keeps SQLite on their own index, which is in order.
        return Expression(SQL(""), "+", named) if pinned else named

    wanted: list[tuple[Any, str | None]] = [
        (SESSIONS.parent_id, where.parent),
        (SESSIONS.working_directory, where.working_directory),
        (SESSIONS.profile, where.profile),
        (SESSIONS.project, where.project),
    ]
    conditions = [column(named) == value for named, value in wanted if value is not None]
    if where.parent is None and not where.include_children:
        conditions.append(column(SESSIONS.parent_id).is_null())
    if where.updated_since is not None:
        conditions.append(column(SESSIONS.updated_at) > to_micros(where.updated_since))
    return conditions


def _cursor_at(row: dict[str, Any]) -> Cursor:
    pinned = row["pinned_at"] is not None
    return Cursor(pinned, row["pinned_at"] if pinned else row["updated_at"], row["id"])

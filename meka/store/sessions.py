"""Sessions: their rows, the order they are listed in, and the trees they are deleted by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypedDict, Unpack

from peewee import fn

from meka.base.text import one_line, scrub
from meka.store import blobs, search, turns
from meka.store.codec import (
    from_micros,
    load_json,
    optional_json,
    optional_micros,
    optional_moment,
    optional_value,
    to_micros,
)
from meka.store.connection import Tx
from meka.store.models import ALL, SESSIONS
from meka.store.turns import TurnRow

FIRST_WORDS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as recorded; `title` is what a client set, `first_words` what it is called until then."""

    id: str
    created_at: datetime
    updated_at: datetime
    working_directory: str
    permission: str
    approvals: bool
    profile: str
    project: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    title: str | None = None
    first_words: str | None = None
    pinned_at: datetime | None = None
    token_fingerprint: str | None = None
    spawn: Mapping[str, Any] | None = None
    revision: int = 0
    context_tokens: int | None = None
    last_turn: TurnRow | None = None


class SessionChanges(TypedDict, total=False):
    """What `update` can change; what is absent stays, None clears."""

    working_directory: str
    permission: str
    approvals: bool
    profile: str
    project: str
    capabilities: Mapping[str, Any]
    title: str | None
    first_words: str | None
    pinned_at: datetime | None
    token_fingerprint: str | None
    spawn: Mapping[str, Any] | None
    context_tokens: int | None


def create(
    tx: Tx,
    session_id: str,
    *,
    working_directory: str,
    permission: str,
    approvals: bool,
    profile: str,
    project: str = "",
    capabilities: Mapping[str, Any] | None = None,
    parent_id: str | None = None,
    title: str | None = None,
    first_words: str | None = None,
    token_fingerprint: str | None = None,
    spawn: Mapping[str, Any] | None = None,
    context_tokens: int | None = None,
) -> SessionRow:
    """Add a session, made now."""
    now = tx.now()
    row = SessionRow(
        id=session_id,
        created_at=now,
        updated_at=now,
        working_directory=working_directory,
        permission=permission,
        approvals=approvals,
        profile=profile,
        project=project,
        capabilities=capabilities or {},
        parent_id=parent_id,
        title=title,
        first_words=first_words,
        token_fingerprint=token_fingerprint,
        spawn=spawn,
        context_tokens=context_tokens,
    )
    return add(tx, row)


def add(tx: Tx, row: SessionRow) -> SessionRow:
    """Add a row as it stands (an archive's keeps its moments); `last_turn` is not stored with it."""
    values = {name: _stored(name, getattr(row, name)) for name in _COLUMN_NAMES}
    tx.execute(SESSIONS.insert({getattr(SESSIONS, name): value for name, value in values.items()}))
    search.note_title(tx, row.id)
    return _session(values)


def get(tx: Tx, session_id: str) -> SessionRow | None:
    """One session, with its latest turn."""
    return next(iter(get_many(tx, [session_id])), None)


def is_drivable(tx: Tx, session_id: str) -> bool | None:
    """Whether clients may drive a session, which a sub-agent they may not; None when there is none."""
    found = tx.sql("SELECT parent_id IS NULL FROM sessions WHERE id = ?", (session_id,))
    return bool(found[0][0]) if found else None


def get_many(tx: Tx, session_ids: Sequence[str]) -> list[SessionRow]:
    """The sessions that exist of those named, in the order named."""
    rows = tx.rows(SESSIONS.select(ALL).where(SESSIONS.id.in_(list(session_ids))))
    found = {session.id: session for session in sessions_of(tx, rows)}
    return [found[session_id] for session_id in session_ids if session_id in found]


def update(tx: Tx, session_id: str, *, touch: bool, **changes: Unpack[SessionChanges]) -> SessionRow | None:
    """`change` a session and answer it as it stands; None when there is none."""
    change(tx, session_id, touch=touch, **changes)
    return get(tx, session_id)


def change(tx: Tx, session_id: str, *, touch: bool, **changes: Unpack[SessionChanges]) -> None:
    """Change a session, if it exists.

    `touch` moves `updated_at` to now: a turn and a change to what the session runs as do, a title or a pin
    does not.
    """
    values = _columns(changes)
    if touch:
        values[SESSIONS.updated_at] = to_micros(tx.now())
    if values:
        tx.execute(SESSIONS.update(values).where(SESSIONS.id == session_id))
    if _NAMES & set(changes):
        search.note_title(tx, session_id)


def note_first_words(tx: Tx, session_id: str, text: str) -> None:
    """Name an unnamed session after the words of its first user message."""
    words = scrub(one_line(text))[:FIRST_WORDS_LIMIT].rstrip()
    unnamed = (SESSIONS.id == session_id) & SESSIONS.first_words.is_null()
    if words:
        tx.execute(SESSIONS.update({SESSIONS.first_words: words}).where(unnamed))
        search.note_title(tx, session_id)


def children(tx: Tx, session_id: str) -> list[SessionRow]:
    """The sub-agents that a session spawned, oldest first."""
    query = SESSIONS.select(ALL).where(SESSIONS.parent_id == session_id)
    return sessions_of(tx, tx.rows(query.order_by(SESSIONS.created_at, SESSIONS.id)))


def tree(tx: Tx, session_id: str) -> list[str]:
    """The ids of a session and all below it, children before their parents; empty when there is none."""
    rows = tx.sql(
        """WITH RECURSIVE below (id, depth) AS (
            SELECT id, 0 FROM sessions WHERE id = ?
            UNION ALL SELECT s.id, b.depth + 1 FROM sessions s JOIN below b ON s.parent_id = b.id
        ) SELECT id FROM below ORDER BY depth DESC, id""",
        (session_id,),
    )
    return [row[0] for row in rows]


def delete_tree(tx: Tx, session_id: str) -> list[str]:
    """Delete a session and all below it, with all that is theirs. Shape: the ids, children first."""
    session_ids = tree(tx, session_id)
    images = {digest for each in session_ids for digest in blobs.hashes(tx, each)}
    for each in session_ids:
        tx.execute(SESSIONS.delete().where(SESSIONS.id == each))
    blobs.delete_unreferenced(tx, images)
    return session_ids


def stale_roots(tx: Tx, before: datetime) -> list[str]:
    """The ids of unpinned sessions that nobody spawned and that were last updated before a moment."""
    root = SESSIONS.parent_id.is_null() & SESSIONS.pinned_at.is_null()
    query = SESSIONS.select(SESSIONS.id).where(root, SESSIONS.updated_at < to_micros(before))
    return [row["id"] for row in tx.rows(query.order_by(SESSIONS.updated_at))]


def all_ids(tx: Tx) -> set[str]:
    """The ids of every session (what the sweep of lock files keeps)."""
    return {row["id"] for row in tx.rows(SESSIONS.select(SESSIONS.id))}


def bump_revision(tx: Tx, session_id: str) -> int:
    """Count one rewrite of a session's conversation; the revision after it."""
    one = SESSIONS.id == session_id
    tx.execute(SESSIONS.update({SESSIONS.revision: SESSIONS.revision + 1}).where(one))
    row = tx.row(SESSIONS.select(SESSIONS.revision).where(one))
    return 0 if row is None else int(row["revision"])


def rename_profile(tx: Tx, old: str, new: str) -> list[str]:
    """Let the sessions of one profile name another; their ids. `updated_at` stays."""
    on_it = SESSIONS.profile == old
    ids = [row["id"] for row in tx.rows(SESSIONS.select(SESSIONS.id).where(on_it))]
    tx.execute(SESSIONS.update({SESSIONS.profile: new}).where(on_it))
    return ids


def count_by_profile(tx: Tx) -> dict[str, int]:
    """How many sessions name each profile."""
    query = SESSIONS.select(SESSIONS.profile, fn.COUNT(SESSIONS.id).alias("count")).group_by(SESSIONS.profile)
    return {row["profile"]: row["count"] for row in tx.rows(query)}


def sessions_of(tx: Tx, rows: Sequence[dict[str, Any]]) -> list[SessionRow]:
    """Rows of the sessions table as values, each with its latest turn."""
    last = turns.last_of(tx, [row["id"] for row in rows]) if rows else {}
    return [replace(_session(row), last_turn=last.get(row["id"])) for row in rows]


_COLUMN_NAMES = tuple(name for name in SessionRow.__dataclass_fields__ if name != "last_turn")
_NAMES = frozenset({"title", "first_words"})
_MOMENTS = frozenset({"created_at", "updated_at", "pinned_at"})
_STRUCTURES = frozenset({"capabilities", "spawn"})
_TEXTS = frozenset({"title", "first_words", "working_directory"})


def _columns(values: Mapping[str, Any]) -> dict[Any, Any]:
    return {getattr(SESSIONS, name): _stored(name, value) for name, value in values.items()}


def _stored(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _MOMENTS:
        return optional_micros(value)
    if name in _STRUCTURES:
        return optional_json(value)
    return scrub(value) if name in _TEXTS else value


def _session(row: dict[str, Any]) -> SessionRow:
    return SessionRow(
        **row
        | {
            "created_at": from_micros(row["created_at"]),
            "updated_at": from_micros(row["updated_at"]),
            "pinned_at": optional_moment(row["pinned_at"]),
            "approvals": bool(row["approvals"]),
            "capabilities": load_json(row["capabilities"]),
            "spawn": optional_value(row["spawn"]),
        }
    )

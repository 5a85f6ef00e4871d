"""The scratchpad: named texts of a session that outlive its context."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from meka.base.text import scrub
from meka.store.codec import from_micros, to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, SCRATCHPAD


@dataclass(frozen=True, slots=True)
class ScratchpadEntry:
    """What a listing says of an entry."""

    name: str
    size_bytes: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ScratchpadText:
    """An entry with its text."""

    name: str
    created_at: datetime
    content: str = field(repr=False)


def put(tx: Tx, session_id: str, name: str, content: str) -> ScratchpadEntry:
    """Write an entry; one of that name is replaced whole, and counts as made now."""
    stored = scrub(content)
    entry = ScratchpadEntry(scrub(name), len(stored.encode()), tx.now())
    values = {
        SCRATCHPAD.session_id: session_id,
        SCRATCHPAD.name: entry.name,
        SCRATCHPAD.content: stored,
        SCRATCHPAD.created_at: to_micros(entry.created_at),
        SCRATCHPAD.size_bytes: entry.size_bytes,
    }
    tx.execute(SCRATCHPAD.replace(values))
    return entry


def get(tx: Tx, session_id: str, name: str) -> str | None:
    """An entry's text."""
    row = tx.row(SCRATCHPAD.select(SCRATCHPAD.content).where(_named(session_id, name)))
    return None if row is None else str(row["content"])


def made_at(tx: Tx, session_id: str, name: str) -> datetime | None:
    """When an entry was last written whole; None where there is none."""
    row = tx.row(SCRATCHPAD.select(SCRATCHPAD.created_at).where(_named(session_id, name)))
    return None if row is None else from_micros(row["created_at"])


def delete(tx: Tx, session_id: str, name: str) -> bool:
    """Remove an entry; whether there was one."""
    return tx.execute(SCRATCHPAD.delete().where(_named(session_id, name))) > 0


def rename(tx: Tx, session_id: str, old: str, new: str) -> bool:
    """Give an entry another name; False, and nothing done, when `old` is missing or `new` is taken."""
    if get(tx, session_id, new) is not None:
        return False
    return tx.execute(SCRATCHPAD.update({SCRATCHPAD.name: scrub(new)}).where(_named(session_id, old))) > 0


def list_entries(tx: Tx, session_id: str) -> list[ScratchpadEntry]:
    """A session's entries by name, without their texts."""
    columns = (SCRATCHPAD.name, SCRATCHPAD.size_bytes, SCRATCHPAD.created_at)
    query = SCRATCHPAD.select(*columns).where(SCRATCHPAD.session_id == session_id).order_by(SCRATCHPAD.name)
    return [
        ScratchpadEntry(row["name"], row["size_bytes"], from_micros(row["created_at"]))
        for row in tx.rows(query)
    ]


def all_of(tx: Tx, session_id: str) -> list[ScratchpadText]:
    """A session's entries by name, with their texts."""
    query = SCRATCHPAD.select(ALL).where(SCRATCHPAD.session_id == session_id).order_by(SCRATCHPAD.name)
    return [
        ScratchpadText(row["name"], from_micros(row["created_at"]), row["content"]) for row in tx.rows(query)
    ]


def add(tx: Tx, session_id: str, entry: ScratchpadText) -> None:
    """Write an entry as it stands: an archive's keeps its moment."""
    stored = scrub(entry.content)
    values = {
        SCRATCHPAD.session_id: session_id,
        SCRATCHPAD.name: scrub(entry.name),
        SCRATCHPAD.content: stored,
        SCRATCHPAD.created_at: to_micros(entry.created_at),
        SCRATCHPAD.size_bytes: len(stored.encode()),
    }
    tx.execute(SCRATCHPAD.insert(values))


def copy(tx: Tx, from_session_id: str, to_session_id: str) -> None:
    """Give another session (a fork) the same entries, with the moments they were made at."""
    tx.sql(
        """INSERT INTO scratchpad_entries (session_id, name, size_bytes, created_at, content)
        SELECT ?, name, size_bytes, created_at, content FROM scratchpad_entries WHERE session_id = ?""",
        (to_session_id, from_session_id),
    )


def _named(session_id: str, name: str) -> Any:
    return (SCRATCHPAD.session_id == session_id) & (SCRATCHPAD.name == scrub(name))

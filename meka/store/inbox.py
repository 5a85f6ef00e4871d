"""The inbox: messages that clients left for a session, from their 202 to their end.

pending ─► appended ─► delivered        pending ─► withdrawn (a DELETE, a canceled turn, given up)
   ▲          │
   └──────────┘  the text was taken out of the conversation again
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from peewee import SQL

from meka.store.codec import (
    dump_json,
    from_micros,
    optional_micros,
    optional_moment,
    optional_value,
    to_micros,
)
from meka.store.connection import Tx
from meka.store.models import ALL, INBOX

# In literals, as the index `inbox_open` has it: with parameters SQLite reads every item there ever was.
_OPEN = "state IN ('pending', 'appended')"


class ItemState(StrEnum):
    """Where an item stands."""

    PENDING = "pending"
    APPENDED = "appended"
    DELIVERED = "delivered"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One item; `class_` is `steer`, `followup` or `interrupt`. `mid_turn`: a turn ran when it landed;
    `failure` says why it was given up on, `last_error` is the problem of its last attempt, `appended_seq` the
    log row its text is in."""

    id: str
    session_id: str
    class_: str
    message: str
    state: ItemState
    created_at: datetime
    retry_until: datetime
    source: str | None = None
    mid_turn: bool = False
    appended_at: datetime | None = None
    appended_seq: int | None = None
    delivered_at: datetime | None = None
    withdrawn_at: datetime | None = None
    not_before: datetime | None = None
    attempts: int = 0
    last_error: Mapping[str, Any] | None = None
    failure: str | None = None
    token: str | None = None
    idempotency_key: str | None = None
    body_digest: str | None = None
    seq: int = 0


_MOMENTS = (
    "created_at",
    "retry_until",
    "appended_at",
    "delivered_at",
    "withdrawn_at",
    "not_before",
)


def add(tx: Tx, row: InboxRow) -> InboxRow:
    """Store an item; as stored."""
    values = [_stored(name, getattr(row, name)) for name in _NAMES]
    ((seq,),) = tx.sql(_INSERT, values)
    return replace(row, seq=seq)


def get(tx: Tx, session_id: str, item_id: str) -> InboxRow | None:
    """One item of a session."""
    return _one(tx, (INBOX.id == item_id) & (INBOX.session_id == session_id))


def find_key(tx: Tx, session_id: str, token: str, key: str) -> InboxRow | None:
    """The item that a token's key is bound to in a session."""
    query = "SELECT id FROM inbox_items WHERE session_id = ? AND token = ? AND idempotency_key = ?"
    found = tx.sql(query, (session_id, token, key))
    return get(tx, session_id, found[0][0]) if found else None


def open_items(tx: Tx, session_id: str) -> list[InboxRow]:
    """The items the model has not been shown, oldest first."""
    where = (INBOX.session_id == session_id) & SQL(_OPEN)
    return [_item(row) for row in tx.rows(INBOX.select(ALL).where(where).order_by(INBOX.seq))]


def pending(tx: Tx, session_id: str) -> list[InboxRow]:
    """The items that wait for a turn, oldest first."""
    return [item for item in open_items(tx, session_id) if item.state is ItemState.PENDING]


def has_pending(tx: Tx, session_id: str) -> bool:
    """Whether an item waits for a turn."""
    rows = tx.sql(
        """SELECT 1 FROM inbox_items WHERE session_id = ?
        AND state IN ('pending', 'appended') AND state = 'pending' LIMIT 1""",
        (session_id,),
    )
    return bool(rows)


def waiting_sessions(tx: Tx) -> list[str]:
    """The sessions in which an item waits for a turn."""
    rows = tx.sql("SELECT DISTINCT session_id FROM inbox_items WHERE state = 'pending'")
    return [row[0] for row in rows]


def mark_appended(tx: Tx, item_ids: Sequence[str], seq: int | None) -> None:
    """The items' texts are in the conversation, in the log row `seq`."""
    _update(
        tx,
        item_ids,
        {"state": ItemState.APPENDED.value, "appended_at": to_micros(tx.now()), "appended_seq": seq},
    )


def mark_delivered(tx: Tx, item_ids: Sequence[str]) -> list[str]:
    """A provider accepted a request that carried the items. Shape: those that were in it still."""
    query = INBOX.select(INBOX.id).where(
        INBOX.id.in_(list(item_ids)) & (INBOX.state == ItemState.APPENDED.value)
    )
    found = {row["id"] for row in tx.rows(query)}
    read = [item_id for item_id in item_ids if item_id in found]
    _update(tx, read, {"state": ItemState.DELIVERED.value, "delivered_at": to_micros(tx.now())})
    return read


def carried_by(tx: Tx, session_id: str, seq: int) -> list[str]:
    """The items whose texts went into the log row `seq`, oldest first."""
    query = (
        INBOX.select(INBOX.id)
        .where((INBOX.session_id == session_id) & (INBOX.appended_seq == seq))
        .order_by(INBOX.seq)
    )
    return [row["id"] for row in tx.rows(query)]


def mark_withdrawn(
    tx: Tx, item_ids: Sequence[str], failure: str | None = None, error: Mapping[str, Any] | None = None
) -> None:
    """The items will not be shown; with `failure` they were given up on."""
    values: dict[str, Any] = {"state": ItemState.WITHDRAWN.value, "withdrawn_at": to_micros(tx.now())}
    if failure is not None:
        values["failure"] = failure
    if error is not None:
        values["last_error"] = dump_json(dict(error))
    _update(tx, item_ids, values)


def offer_again(
    tx: Tx,
    item_ids: Sequence[str],
    *,
    not_before: datetime | None = None,
    error: Mapping[str, Any] | None = None,
    attempted: bool = False,
) -> None:
    """The items wait for a turn again, not before a moment where one is given."""
    values: dict[str, Any] = {
        "state": ItemState.PENDING.value,
        "appended_at": None,
        "appended_seq": None,
        "delivered_at": None,
        "not_before": optional_micros(not_before),
    }
    if error is not None:
        values["last_error"] = dump_json(dict(error))
    if attempted:
        values["attempts"] = INBOX.attempts + 1
    _update(tx, item_ids, values)


def offer_again_from(tx: Tx, session_id: str, seqs: Collection[int]) -> list[str]:
    """Offer again the items whose texts are in these log rows and that no provider accepted; their ids."""
    taken_out = [
        item.id
        for item in open_items(tx, session_id)
        if item.state is ItemState.APPENDED and item.appended_seq in seqs
    ]
    if taken_out:
        offer_again(tx, taken_out)
    return taken_out


def withdraw_pending(tx: Tx, session_id: str, item_id: str) -> InboxRow | None:
    """Take back an item that still waits; the item as it was before, None when there is none."""
    item = get(tx, session_id, item_id)
    if item is not None and item.state is ItemState.PENDING:
        mark_withdrawn(tx, [item_id])
    return item


def _update(tx: Tx, item_ids: Sequence[str], values: Mapping[str, Any]) -> None:
    changes = {getattr(INBOX, name): value for name, value in values.items()}
    tx.execute(INBOX.update(changes).where(INBOX.id.in_(list(item_ids))))


def _one(tx: Tx, where: Any) -> InboxRow | None:
    row = tx.row(INBOX.select(ALL).where(where))
    return None if row is None else _item(row)


_NAMES = tuple(name for name in InboxRow.__dataclass_fields__ if name != "seq")
# Put together once: composed for each item, the statement costs more than SQLite takes to run it.
_COLUMNS = ", ".join(name.rstrip("_") for name in _NAMES)
_MARKS = ", ".join("?" for _ in _NAMES)
_INSERT = f"INSERT INTO inbox_items ({_COLUMNS}) VALUES ({_MARKS}) RETURNING seq"  # noqa: S608 - our own names


def _stored(name: str, value: Any) -> Any:
    if name in _MOMENTS:
        return optional_micros(value)
    if name == "last_error":
        return None if value is None else dump_json(dict(value))
    if isinstance(value, bool):
        return int(value)
    return value.value if isinstance(value, ItemState) else value


def _item(row: Mapping[str, Any]) -> InboxRow:
    values = {("class_" if name == "class" else name): value for name, value in row.items()}
    values |= {name: optional_moment(values[name]) for name in _MOMENTS}
    values["created_at"] = from_micros(row["created_at"])
    values["mid_turn"] = bool(row["mid_turn"])
    values["last_error"] = optional_value(row["last_error"])
    values["state"] = ItemState(row["state"])
    return InboxRow(**values)

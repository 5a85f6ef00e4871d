"""The conversation: an append-only log of rows, and the view that they add up to.

Nothing of the log is ever changed or removed; what changes a conversation is a row too. Read in order of
`seq`, a row of each kind means:

    message      stands at the end of the view
    withdrawal   takes out the messages of `meta["seqs"]` (an opening taken back)
    repair       gives the messages of `meta["contents"]` other content (a history that a provider refused)
    redaction    the same, for images that had to go
    boundary     starts the view again with the messages of `meta["keep"]`, in that order (a compaction: its
                 summary was appended just before and is named first); what follows is appended as ever
    rewind       cuts the view back to before the message `meta["before"]`, and all that stood after it
                 (`meta["seqs"]`, where it is there, names what that took out)

Shape: `meta["contents"]` is a list of `{"seq", "content"}`. Further members of `meta` belong to who wrote
the row. Each kind but `message` is a rewrite, and raises the session's `revision` by one
(`sessions.bump_revision`). A seq that is not in the view (any more) is passed over: a rewrite cannot fail.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from peewee import fn

from meka.store import search
from meka.store.codec import clean_json, from_micros, load_json, optional_value, to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, MESSAGES

Content = Sequence[Mapping[str, Any]]


class LogKind(StrEnum):
    """What a row of the log does to the view."""

    MESSAGE = "message"
    WITHDRAWAL = "withdrawal"
    REPAIR = "repair"
    REDACTION = "redaction"
    BOUNDARY = "boundary"
    REWIND = "rewind"


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row that is to be appended; the functions below make the ones that are not messages."""

    kind: LogKind = LogKind.MESSAGE
    role: str | None = None
    content: Content = ()
    turn_id: str | None = None
    meta: Mapping[str, Any] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogRow:
    """A row of the log; `content` holds the records of blocks, `seq` rises over the whole store."""

    seq: int
    session_id: str
    kind: LogKind
    role: str | None
    content: Content
    created_at: datetime
    turn_id: str | None = None
    meta: Mapping[str, Any] | None = None


def message(
    role: str, content: Content, *, turn_id: str | None = None, meta: Mapping[str, Any] | None = None
) -> NewRow:
    """A message; without a turn for what no turn added (a summary)."""
    return NewRow(LogKind.MESSAGE, role, content, turn_id, meta)


def withdrawal(seqs: Iterable[int], **meta: Any) -> NewRow:
    """Takes messages out of the view."""
    return NewRow(LogKind.WITHDRAWAL, meta={**meta, "seqs": list(seqs)})


def repair(contents: Mapping[int, Content], **meta: Any) -> NewRow:
    """Gives messages other content, by seq."""
    return NewRow(LogKind.REPAIR, meta={**meta, "contents": _replacements(contents)})


def redaction(contents: Mapping[int, Content], **meta: Any) -> NewRow:
    """Gives messages content without their images, by seq."""
    return NewRow(LogKind.REDACTION, meta={**meta, "contents": _replacements(contents)})


def boundary(keep: Iterable[int], **meta: Any) -> NewRow:
    """Starts the view again with these messages, in this order."""
    return NewRow(LogKind.BOUNDARY, meta={**meta, "keep": list(keep)})


def rewind(before: int, **meta: Any) -> NewRow:
    """Cuts the view back to before a message."""
    return NewRow(LogKind.REWIND, meta={**meta, "before": before})


def append(tx: Tx, session_id: str, *rows: NewRow) -> list[LogRow]:
    """Add rows to a session's log; as they are stored, each with its seq."""
    now = tx.now()
    return [_append(tx, session_id, row, row.created_at or now) for row in rows]


def load(tx: Tx, session_id: str) -> list[LogRow]:
    """A session's whole log, in order."""
    query = MESSAGES.select(ALL).where(MESSAGES.session_id == session_id).order_by(MESSAGES.seq)
    return [_row(row) for row in tx.rows(query)]


def count_boundaries(tx: Tx, session_id: str) -> int:
    """How many times a session's conversation was compacted."""
    boundaries = (MESSAGES.session_id == session_id) & (MESSAGES.kind == LogKind.BOUNDARY.value)
    row = tx.row(MESSAGES.select(fn.COUNT(MESSAGES.seq).alias("count")).where(boundaries))
    return 0 if row is None else int(row["count"])


def replay(tx: Tx, session_id: str, rows: Iterable[LogRow]) -> list[LogRow]:
    """Append the log of another session (a fork's origin, an archive's); the rows it became.

    What a row says of others follows them to their new seqs; moments and turns stay.
    """
    numbers: dict[int, int] = {}
    appended = []
    for row in rows:
        meta = None if row.meta is None else _renumbered(row.meta, numbers)
        copied = NewRow(row.kind, row.role, row.content, row.turn_id, meta)
        appended.append(_append(tx, session_id, copied, row.created_at))
        numbers[row.seq] = appended[-1].seq
    search.forget(tx, sorted(unsaid(appended)))
    return appended


def said(rows: Sequence[LogRow]) -> list[LogRow]:
    """Every message that was not taken out again, compacted away or not, with the content it has now."""
    taken = unsaid(rows)
    contents = {
        each["seq"]: each["content"]
        for row in rows
        if row.kind in (LogKind.REPAIR, LogKind.REDACTION)
        for each in (row.meta or {})["contents"]
    }
    return [
        replace(row, content=contents.get(row.seq, row.content))
        for row in rows
        if row.kind is LogKind.MESSAGE and row.seq not in taken
    ]


def numbered(rows: Iterable[LogRow]) -> list[LogRow]:
    """A log as one of a store of its own: its rows numbered from 1, in what they say of each other too."""
    numbers: dict[int, int] = {}
    renumbered = []
    for place, row in enumerate(rows, start=1):
        meta = None if row.meta is None else _renumbered(row.meta, numbers)
        renumbered.append(replace(row, seq=place, meta=meta))
        numbers[row.seq] = place
    return renumbered


def copy(tx: Tx, from_session_id: str, to_session_id: str) -> None:
    """As `replay`, for a log of the same store: nothing of it is read but what names other rows."""
    tx.sql(
        """INSERT INTO messages (session_id, kind, role, content, created_at, turn_id, meta)
        SELECT ?, kind, role, content, created_at, turn_id, meta FROM messages
        WHERE session_id = ? ORDER BY seq""",
        (to_session_id, from_session_id),
    )
    numbers = dict(zip(_seqs(tx, from_session_id), _seqs(tx, to_session_id), strict=True))
    rewrites = tx.sql(
        "SELECT seq, meta FROM messages WHERE session_id = ? AND kind != ?",
        (to_session_id, LogKind.MESSAGE.value),
    )
    for seq, meta in rewrites:
        renumbered = clean_json(_renumbered(load_json(meta), numbers))[1]
        tx.sql("UPDATE messages SET meta = ? WHERE seq = ?", (renumbered, seq))
    search.copy(tx, from_session_id, to_session_id, numbers)


def _seqs(tx: Tx, session_id: str) -> list[int]:
    rows = tx.sql("SELECT seq FROM messages WHERE session_id = ? ORDER BY seq", (session_id,))
    return [row[0] for row in rows]


def view(rows: Iterable[LogRow], onto: Sequence[LogRow] = ()) -> list[LogRow]:
    """The messages that `rows` add up to, in order; `onto` is the view that earlier rows added up to."""
    current = {row.seq: row for row in onto}
    for row in rows:
        current = _apply(current, row)
    return list(current.values())


def _apply(current: dict[int, LogRow], row: LogRow) -> dict[int, LogRow]:
    """The view after one more row (messages are added in place: a load is linear in the log)."""
    meta = row.meta or {}
    match row.kind:
        case LogKind.MESSAGE:
            current[row.seq] = row
            return current
        case LogKind.WITHDRAWAL:
            gone = set(meta["seqs"])
            return {seq: kept for seq, kept in current.items() if seq not in gone}
        case LogKind.REPAIR | LogKind.REDACTION:
            contents = {each["seq"]: each["content"] for each in meta["contents"]}
            return {
                seq: replace(kept, content=contents[seq]) if seq in contents else kept
                for seq, kept in current.items()
            }
        case LogKind.BOUNDARY:
            return {seq: current[seq] for seq in meta["keep"] if seq in current}
        case LogKind.REWIND:
            return _cut_before(current, meta["before"])


def _cut_before(current: dict[int, LogRow], before: int) -> dict[int, LogRow]:
    order = list(current)
    if before not in current:
        return current
    return {seq: current[seq] for seq in order[: order.index(before)]}


def _renumbered(meta: Mapping[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """`meta` with each seq it names given its new number; one that nothing has stays without a row (0)."""
    renumbered = dict(meta)
    for name in ("seqs", "keep"):
        if name in meta:
            renumbered[name] = [numbers.get(seq, 0) for seq in meta[name]]
    if "before" in meta:
        renumbered["before"] = numbers.get(meta["before"], 0)
    if "contents" in meta:
        renumbered["contents"] = [each | {"seq": numbers.get(each["seq"], 0)} for each in meta["contents"]]
    return renumbered


def _append(tx: Tx, session_id: str, row: NewRow, created_at: datetime) -> LogRow:
    content, content_text = clean_json(list(row.content))
    meta, meta_text = (None, None) if row.meta is None else clean_json(dict(row.meta))
    # In SQLite's own words: building the query would cost more than running it, and an import has many.
    ((seq,),) = tx.sql(
        """INSERT INTO messages (session_id, kind, role, content, created_at, turn_id, meta)
        VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq""",
        (session_id, row.kind.value, row.role, content_text, to_micros(created_at), row.turn_id, meta_text),
    )
    appended = LogRow(seq, session_id, row.kind, row.role, content, created_at, row.turn_id, meta)
    index(tx, appended)
    return appended


def index(tx: Tx, row: LogRow) -> None:
    """Let what can be searched for follow a row of the log."""
    meta = row.meta or {}
    match row.kind:
        case LogKind.MESSAGE:
            is_summary = "compaction" in meta
            search.note_message(tx, row.session_id, row.seq, row.role, row.content, is_summary)
        case LogKind.WITHDRAWAL | LogKind.REWIND:
            search.forget(tx, meta.get("seqs", ()))
        case LogKind.REPAIR:
            for each in meta["contents"]:
                search.note_content(tx, row.session_id, each["seq"], each["content"])
        case LogKind.REDACTION | LogKind.BOUNDARY:
            """Images have no words, and what was compacted away was said all the same."""


def unsaid(rows: Iterable[LogRow]) -> set[int]:
    """The messages that a withdrawal or a rewind took out."""
    current: dict[int, LogRow] = {}
    taken: set[int] = set()
    for row in rows:
        following = _apply(current, row)
        if row.kind in (LogKind.WITHDRAWAL, LogKind.REWIND):
            taken |= current.keys() - following.keys()
        current = following
    return taken


def _row(row: dict[str, Any]) -> LogRow:
    return LogRow(
        seq=row["seq"],
        session_id=row["session_id"],
        kind=LogKind(row["kind"]),
        role=row["role"],
        content=load_json(row["content"]),
        created_at=from_micros(row["created_at"]),
        turn_id=row["turn_id"],
        meta=optional_value(row["meta"]),
    )


def _replacements(contents: Mapping[int, Content]) -> list[dict[str, Any]]:
    return [{"seq": seq, "content": list(content)} for seq, content in contents.items()]

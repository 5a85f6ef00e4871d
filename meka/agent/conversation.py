"""One session's conversation: the view the model sees, kept in step with the append-only log in the store.

The view, `revision` and every event move only after the store has committed; a failed write leaves the
conversation as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from meka.agent.blocks import Block, Message, Role, from_records, to_records
from meka.store import messages as log
from meka.store import sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.messages import LogKind, LogRow

Unit = Callable[[Tx, Sequence[LogRow]], Any]
"""What else is to happen in the transaction of a write; it is given the rows that were appended."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The last compaction of a conversation: its row, its number, and what it recorded beside the view."""

    seq: int
    generation: int
    checklist: Mapping[str, Any]
    loaded_tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the view, with the log row it stands on."""

    seq: int
    message: Message
    created_at: datetime
    turn_id: str | None
    meta: Mapping[str, Any] | None = None


class Conversation:
    """The view of one session, in memory while the session is loaded."""

    def __init__(
        self,
        database: Database,
        session_id: str,
        entries: Sequence[Entry],
        revision: int,
        boundary: Boundary | None = None,
    ) -> None:
        self._database = database
        self.session_id = session_id
        self.entries: list[Entry] = list(entries)
        self.revision = revision
        self.boundary = boundary

    @classmethod
    def load(cls, database: Database, session_id: str, revision: int) -> "Conversation":
        """The conversation as the store has it."""

        def query(tx: Tx) -> tuple[list[Entry], Boundary | None]:
            rows = log.load(tx, session_id)
            return entries_of(rows), boundary_of(rows)

        entries, boundary = database.read_long(query)
        return cls(database, session_id, entries, revision, boundary)

    @property
    def total(self) -> int:
        """How many messages the view holds."""
        return len(self.entries)

    @property
    def messages(self) -> list[Message]:
        """The view, as a model is sent it."""
        return [entry.message for entry in self.entries]

    @property
    def generation(self) -> int:
        """How many compactions there were."""
        return 0 if self.boundary is None else self.boundary.generation

    @property
    def since_boundary(self) -> list[Message]:
        """The messages that came after the last compaction, what it kept word for word left out."""
        first = 0 if self.boundary is None else self.boundary.seq
        return [entry.message for entry in self.entries if entry.seq > first]

    def append(
        self, role: Role, content: Sequence[Block], turn_id: str | None, also: Unit | None = None
    ) -> Entry:
        """Write one message and show it; `also` commits or fails with it."""
        return self.append_all([(role, content)], turn_id, also)[0]

    def append_all(
        self,
        messages: Sequence[tuple[Role, Sequence[Block]]],
        turn_id: str | None,
        also: Unit | None = None,
    ) -> list[Entry]:
        """Write several messages in one transaction and show them."""
        new = [log.message(role.value, to_records(content), turn_id=turn_id) for role, content in messages]

        def unit(tx: Tx) -> Sequence[LogRow]:
            rows = log.append(tx, self.session_id, *new)
            if also is not None:
                also(tx, rows)
            return rows

        rows = self._database.write(unit)
        added = [
            Entry(row.seq, Message(role, tuple(content)), row.created_at, turn_id)
            for row, (role, content) in zip(rows, messages, strict=True)
        ]
        self.entries.extend(added)
        return added

    def withdraw(self, entries: Sequence[Entry], also: Unit | None = None) -> None:
        """Take messages back out of the view; the log keeps that they were there. Raises `revision`."""
        seqs = [entry.seq for entry in entries]

        def unit(tx: Tx) -> int:
            rows = log.append(tx, self.session_id, log.withdrawal(seqs))
            if also is not None:
                also(tx, rows)
            return sessions.bump_revision(tx, self.session_id)

        self.revision = self._database.write(unit)
        gone = set(seqs)
        self.entries = [entry for entry in self.entries if entry.seq not in gone]

    def rewind(self, position: int, also: Unit | None = None) -> list[Entry]:
        """Cut the view back to before a position. Raises `revision`. Shape: the messages that are gone."""
        dropped = self.entries[position:]
        seqs = [entry.seq for entry in dropped]

        def unit(tx: Tx) -> int:
            rows = log.append(tx, self.session_id, log.rewind(seqs[0], seqs=seqs))
            if also is not None:
                also(tx, rows)
            return sessions.bump_revision(tx, self.session_id)

        self.revision = self._database.write(unit)
        self.entries = self.entries[:position]
        return dropped

    def redact(self, contents: Mapping[int, tuple[Block, ...]]) -> None:
        """Give messages content without some of their images, by seq. Raises `revision`."""
        records = {seq: to_records(content) for seq, content in contents.items()}

        def unit(tx: Tx) -> int:
            log.append(tx, self.session_id, log.redaction(records))
            return sessions.bump_revision(tx, self.session_id)

        self.revision = self._database.write(unit)
        self.entries = [
            replace(entry, message=replace(entry.message, content=contents[entry.seq]))
            if entry.seq in contents
            else entry
            for entry in self.entries
        ]

    def extend(self, entry: Entry, blocks: Sequence[Block], also: Unit | None = None) -> Entry:
        """Add blocks to a message of the view. Raises `revision`."""
        return self.rewrite(entry, (*entry.message.content, *blocks), also)

    def rewrite(self, entry: Entry, content: tuple[Block, ...], also: Unit | None = None) -> Entry:
        """Give a message of the view other content. Raises `revision`: it reads otherwise than before."""

        def unit(tx: Tx) -> int:
            log.append(tx, self.session_id, log.repair({entry.seq: to_records(content)}, joined=True))
            if also is not None:
                also(tx, [LogRow(entry.seq, self.session_id, LogKind.MESSAGE, None, (), entry.created_at)])
            return sessions.bump_revision(tx, self.session_id)

        self.revision = self._database.write(unit)
        joined = replace(entry, message=Message(entry.message.role, content))
        self.entries = [joined if each.seq == entry.seq else each for each in self.entries]
        return joined

    def repair(self, contents: Mapping[int, tuple[Block, ...]]) -> None:
        """Give messages the content that a provider accepted in their place. Raises `revision`."""

        def unit(tx: Tx) -> int:
            log.append(
                tx,
                self.session_id,
                log.repair({seq: to_records(content) for seq, content in contents.items()}),
            )
            return sessions.bump_revision(tx, self.session_id)

        self.revision = self._database.write(unit)
        self.entries = overlay(self.entries, contents)

    def replace(
        self,
        summary: Sequence[Block],
        kept: Sequence[Entry],
        marker: Mapping[str, Any],
        *,
        checklist: Mapping[str, Any],
        loaded_tools: Sequence[str],
    ) -> None:
        """Start the view again with a summary and what is kept of it. Raises `revision`.

        The session's measured occupancy is forgotten with what it measured.
        """
        row = log.message(Role.USER.value, to_records(summary), meta={"compaction": dict(marker)})
        recorded = {"checklist": dict(checklist), "loaded_tools": list(loaded_tools)}

        def unit(tx: Tx) -> tuple[LogRow, LogRow, int]:
            (said,) = log.append(tx, self.session_id, row)
            keep = [said.seq, *(entry.seq for entry in kept)]
            generation = marker["generation"]
            (edge,) = log.append(tx, self.session_id, log.boundary(keep, generation=generation, **recorded))
            sessions.change(tx, self.session_id, touch=False, context_tokens=None)
            return said, edge, sessions.bump_revision(tx, self.session_id)

        said, edge, self.revision = self._database.write(unit)
        self.boundary = boundary_of([edge])
        self.entries = [*entries_of([said]), *kept]

    def whole_log(self) -> list[Message]:
        """Every message ever written, rewritten parts included, oldest first."""

        def query(tx: Tx) -> list[Message]:
            rows = log.load(tx, self.session_id)
            return [message_of(row) for row in rows if row.kind is LogKind.MESSAGE]

        return self._database.read_long(query)


def entries_of(rows: Sequence[LogRow]) -> list[Entry]:
    """The view that a log adds up to."""
    return [Entry(row.seq, message_of(row), row.created_at, row.turn_id, row.meta) for row in log.view(rows)]


def message_of(row: LogRow) -> Message:
    """The message a log row holds."""
    return Message(Role(row.role or Role.USER), from_records(row.content))


def overlay(entries: Sequence[Entry], contents: Mapping[int, tuple[Block, ...]]) -> list[Entry]:
    """The entries, some of them with other content."""
    return [
        replace(entry, message=Message(entry.message.role, contents[entry.seq]))
        if entry.seq in contents
        else entry
        for entry in entries
    ]


def boundary_of(rows: Sequence[LogRow]) -> Boundary | None:
    """The last compaction that a log holds."""
    edges = [row for row in rows if row.kind is LogKind.BOUNDARY]
    if not edges:
        return None
    meta = edges[-1].meta or {}
    generation = meta.get("generation", len(edges))
    return Boundary(
        edges[-1].seq, generation, meta.get("checklist") or {}, tuple(meta.get("loaded_tools") or ())
    )

"""Archives: a session and all below it as one JSON document (docs/archive.md), written from the raw log.

What an archive holds: each session's row, its turns, its whole log (what rewrites took out of the view
included), its scratchpad, and each image once, by its hash. Pins, the inbox and background tasks stay behind.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meka.base.clock import rfc3339
from meka.store import blobs, messages, scratchpad, sessions, turns
from meka.store.blobs import Blob
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.messages import LogRow
from meka.store.sessions import SessionRow
from meka.store.turns import TurnRow

FORMAT = "meka-session-archive"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Packed:
    """A session with all that is its own. `log` is numbered from 1; `images` are hashes."""

    row: SessionRow
    turns: Sequence[TurnRow]
    log: Sequence[LogRow]
    scratchpad: Sequence[scratchpad.ScratchpadText]
    images: Sequence[str]


def read_packed(tx: Tx, session_id: str) -> Packed | None:
    """One session as the store has it; None when there is none."""
    row = sessions.get(tx, session_id)
    if row is None:
        return None
    return Packed(
        row,
        turns.all_of(tx, session_id),
        messages.numbered(messages.load(tx, session_id)),
        scratchpad.all_of(tx, session_id),
        sorted(blobs.hashes(tx, session_id)),
    )


def tree_of(tx: Tx, session_id: str) -> list[str]:
    """The ids of a session and all below it, parents before their children, siblings oldest first."""
    order, waiting = [], [session_id]
    while waiting:
        order.append(waiting.pop())
        waiting += [child.id for child in reversed(sessions.children(tx, order[-1]))]
    return order


def write_archive(database: Database, session_id: str) -> Iterator[bytes]:
    """An archive in pieces: what is read and encoded at a time is a row of a log, or an image.

    Nothing for a session that is not there. Each session is read on a snapshot of its own.
    """
    tree = database.read(lambda tx: tree_of(tx, session_id) if sessions.get(tx, session_id) else [])
    if not tree:
        return
    yield f'{{"format":"{FORMAT}","format_version":{FORMAT_VERSION},"sessions":['.encode()
    images: dict[str, None] = {}
    for number, each in enumerate(tree):
        packed = database.read_long(lambda tx, each=each: read_packed(tx, each))  # type: ignore[misc]
        if packed is not None:
            yield b"," if number else b""
            yield from _session_pieces(packed, is_root=not number)
            images |= dict.fromkeys(packed.images)
    yield b'],"images":{'
    yield from _image_pieces(database, images)
    yield b"}}\n"


def _session_pieces(packed: Packed, *, is_root: bool) -> Iterator[bytes]:
    """One session's object, its log a row at a time and last."""
    head = session_record(packed.row, is_root=is_root) | {
        "turns": [turn_record(turn) for turn in packed.turns],
        "scratchpad": [scratchpad_record(entry) for entry in packed.scratchpad],
        "images": list(packed.images),
    }
    yield _dumped(head)[:-1] + b',"log":['
    for number, row in enumerate(packed.log):
        yield (b"," if number else b"") + _dumped(log_record(row))
    yield b"]}"


def _image_pieces(database: Database, hashes: Iterable[str]) -> Iterator[bytes]:
    is_first = True
    for digest in hashes:
        blob = database.read(lambda tx, digest=digest: blobs.get(tx, digest))  # type: ignore[misc]
        if blob is not None:
            yield (b"" if is_first else b",") + _dumped(digest) + b":" + _dumped(image_record(blob))
            is_first = False


def session_record(row: SessionRow, *, is_root: bool) -> dict[str, Any]:
    """A session's row. A root counts as nobody's sub-agent, whatever it was."""
    optional = {
        "parent_id": None if is_root else row.parent_id,
        "title": row.title,
        "first_words": row.first_words,
        "spawn": None if is_root else row.spawn,
        "context_tokens": row.context_tokens,
    }
    return {
        "id": row.id,
        "created_at": rfc3339(row.created_at),
        "updated_at": rfc3339(row.updated_at),
        "working_directory": row.working_directory,
        "permission": row.permission,
        "approvals": row.approvals,
        "profile": row.profile,
        "project": row.project,
        "capabilities": dict(row.capabilities),
        "revision": row.revision,
    } | _present(optional)


def turn_record(turn: TurnRow) -> dict[str, Any]:
    """A turn's row."""
    optional = {
        "ended_at": rfc3339(turn.ended_at) if turn.ended_at else None,
        "status": turn.status,
        "stop_reason": turn.stop_reason,
        "error_type": turn.error_type,
        "error_detail": turn.error_detail,
        "profile": turn.profile,
    }
    return {
        "id": turn.id,
        "source": turn.source,
        "started_at": rfc3339(turn.started_at),
        "permission": turn.permission,
        "usage": {
            "input_tokens": turn.usage.input_tokens,
            "output_tokens": turn.usage.output_tokens,
            "cache_creation_input_tokens": turn.usage.cache_creation_input_tokens,
            "cache_read_input_tokens": turn.usage.cache_read_input_tokens,
        },
    } | _present(optional)


def log_record(row: LogRow) -> dict[str, Any]:
    """A row of the log; its place in the list is its number."""
    optional = {
        "role": row.role,
        "turn_id": row.turn_id,
        "content": list(row.content) or None,
        "meta": row.meta,
    }
    return {"kind": row.kind.value, "created_at": rfc3339(row.created_at)} | _present(optional)


def scratchpad_record(entry: scratchpad.ScratchpadText) -> dict[str, Any]:
    """An entry of the scratchpad, with its text."""
    return {"name": entry.name, "created_at": rfc3339(entry.created_at), "content": entry.content}


def image_record(blob: Blob) -> dict[str, str]:
    """An image's bytes, under its hash."""
    return {"media_type": blob.media_type, "data": base64.b64encode(blob.data).decode("ascii")}


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

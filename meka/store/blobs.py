"""Images and other bytes: stored once by their SHA-256, with a reference for each session that holds them."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

from meka.store.connection import Tx
from meka.store.models import BLOBS, SESSION_BLOBS


@dataclass(frozen=True, slots=True)
class Blob:
    """Stored bytes under their media type."""

    hash: str
    media_type: str
    data: bytes = field(repr=False)


def put(tx: Tx, session_id: str, media_type: str, data: bytes) -> str:
    """Keep `data` for a session; its SHA-256 in hex. Bytes that are there already keep their media type."""
    digest = hashlib.sha256(data).hexdigest()
    values = {
        BLOBS.hash: digest,
        BLOBS.media_type: media_type,
        BLOBS.size_bytes: len(data),
        BLOBS.data: data,
    }
    tx.execute(BLOBS.insert(values).on_conflict_ignore())
    reference(tx, session_id, digest)
    return digest


def reference(tx: Tx, session_id: str, digest: str) -> None:
    """Let a session hold bytes that are stored already."""
    values = {SESSION_BLOBS.session_id: session_id, SESSION_BLOBS.hash: digest}
    tx.execute(SESSION_BLOBS.insert(values).on_conflict_ignore())


def copy(tx: Tx, from_session_id: str, to_session_id: str) -> None:
    """Let another session (a fork) hold the same bytes."""
    for digest in hashes(tx, from_session_id):
        reference(tx, to_session_id, digest)


def get(tx: Tx, digest: str) -> Blob | None:
    """The bytes of a hash, whoever holds them."""
    row = tx.row(BLOBS.select(BLOBS.hash, BLOBS.media_type, BLOBS.data).where(BLOBS.hash == digest))
    return None if row is None else Blob(row["hash"], row["media_type"], bytes(row["data"]))


def get_for_session(tx: Tx, session_id: str, digest: str) -> Blob | None:
    """The bytes of a hash, when the session holds them."""
    held = (SESSION_BLOBS.session_id == session_id) & (SESSION_BLOBS.hash == digest)
    return None if tx.row(SESSION_BLOBS.select().where(held)) is None else get(tx, digest)


def hashes(tx: Tx, session_id: str) -> set[str]:
    """The hashes that a session holds, its whole log's."""
    rows = tx.rows(SESSION_BLOBS.select(SESSION_BLOBS.hash).where(SESSION_BLOBS.session_id == session_id))
    return {row["hash"] for row in rows}


def delete_unreferenced(tx: Tx, digests: Collection[str]) -> None:
    """Remove those of `digests` that no session holds any more."""
    for digest in digests:
        held = SESSION_BLOBS.select(SESSION_BLOBS.hash).where(SESSION_BLOBS.hash == digest)
        tx.execute(BLOBS.delete().where((BLOBS.hash == digest) & BLOBS.hash.not_in(held)))

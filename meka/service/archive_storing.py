"""The sessions of an archive, written under fresh ids."""

from collections.abc import Mapping
from dataclasses import replace

from meka.base.ids import Ids
from meka.service.archive import Packed
from meka.service.archive_reading import Unpacked
from meka.store import blobs, messages, scratchpad, sessions, turns
from meka.store.connection import Tx


def store_archive(tx: Tx, unpacked: Unpacked, ids: Ids, token_fingerprint: str | None) -> list[str]:
    """Write the sessions of an archive under fresh ids; the ids, the root's first.

    They count as updated now, so that no retention takes what was just brought back.
    """
    fresh = {packed.row.id: ids.new() for packed in unpacked.sessions}
    for packed in unpacked.sessions:
        _store(tx, packed, fresh, unpacked, token_fingerprint)
    return list(fresh.values())


def _store(
    tx: Tx, packed: Packed, fresh: Mapping[str, str], unpacked: Unpacked, token_fingerprint: str | None
) -> None:
    row = packed.row
    session_id = fresh[row.id]
    parent_id = None if row.parent_id is None else fresh[row.parent_id]
    sessions.add(
        tx,
        replace(
            row,
            id=session_id,
            parent_id=parent_id,
            updated_at=tx.now(),
            spawn=row.spawn if parent_id else None,
            token_fingerprint=token_fingerprint,
        ),
    )
    for turn in packed.turns:
        turns.add(tx, replace(turn, session_id=session_id))
    for digest in packed.images:
        image = unpacked.images[digest]
        blobs.put(tx, session_id, image.media_type, image.data)
    messages.replay(tx, session_id, packed.log)
    for entry in packed.scratchpad:
        scratchpad.add(tx, session_id, entry)

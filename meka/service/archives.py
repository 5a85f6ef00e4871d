"""Conversations that leave the store as documents, and archives that come back as sessions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from meka.base.errors import InvalidBodyError
from meka.base.ids import Ids
from meka.service.announce import Announcer
from meka.service.archive import Packed, write_archive
from meka.service.archive_reading import Unpacked, count_sessions, read_archive
from meka.service.models import Models
from meka.service.registry import Registry
from meka.service.transcript import write_transcript
from meka.service.views import session_view
from meka.store import blobs, messages, scratchpad, sessions, turns
from meka.store.connection import Tx
from meka.store.database import Database

MOST_SESSIONS = 1000
"""What one request may make: the whole tree is written in one transaction, which others wait for."""


class Archives:
    """Exports and imports. One instance a process."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        models: Models,
        announcer: Announcer,
        ids: Ids,
        run_blocking: Callable[..., Any],
    ) -> None:
        self._database = database
        self._registry = registry
        self._models = models
        self._announcer = announcer
        self._ids = ids
        self._run_blocking = run_blocking

    def export_json(self, session_id: str) -> Iterator[bytes]:
        """The archive of a session and all below it, in pieces. Raises: SessionNotFoundError, at once."""
        self._registry.row(session_id)
        return write_archive(self._database, session_id)

    def export_markdown(self, session_id: str) -> str:
        """The conversation for a reader. Raises: SessionNotFoundError."""
        row = self._registry.row(session_id)
        log = self._database.read(lambda tx: messages.load(tx, session_id))
        text: str = self._run_blocking(write_transcript, row, log)
        return text

    def import_archive(self, document: Mapping[str, Any], token_fingerprint: str | None) -> dict[str, Any]:
        """Make the sessions of an archive, all or none. Raises: InvalidBodyError saying what is wrong."""
        count = count_sessions(document)
        if count > MOST_SESSIONS:
            raise InvalidBodyError(
                f"the archive holds {count} sessions, at most {MOST_SESSIONS} are taken here; "
                "`meka session import` takes any number"
            )
        unpacked = self._run_blocking(read_archive, document, self._choose_profile)
        made = self._database.write(lambda tx: store_archive(tx, unpacked, self._ids, token_fingerprint))
        for session_id in made:
            self._announcer.created(session_view(self._registry.row(session_id), None))
        return {"session_id": made[0], "sessions_imported": len(made)}

    def _choose_profile(self, named: str | None) -> str:
        return self._models.select(named)


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

"""Conversations that leave the store as documents, and archives that come back as sessions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from meka.base.errors import InvalidBodyError
from meka.base.ids import Ids
from meka.service.announce import Announcer
from meka.service.archive import write_archive
from meka.service.archive_reading import Terms, count_sessions, read_archive
from meka.service.archive_storing import store_archive
from meka.service.models import Models
from meka.service.registry import Registry
from meka.service.transcript import write_transcript
from meka.service.views import session_view
from meka.store import messages, projects
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
        # In the thread that reads: the words of a long conversation take their time, too.
        return self._database.read_long(lambda tx: write_transcript(row, messages.load(tx, session_id)))

    def import_archive(self, document: Mapping[str, Any], token_fingerprint: str | None) -> dict[str, Any]:
        """Make the sessions of an archive, all or none. Raises: InvalidBodyError saying what is wrong."""
        count = count_sessions(document)
        if count > MOST_SESSIONS:
            raise InvalidBodyError(
                f"the archive holds {count} sessions, at most {MOST_SESSIONS} are taken here; "
                "`meka session import` takes any number"
            )
        known = [project.name for project in self._database.read(projects.list_all)]
        unpacked = self._run_blocking(read_archive, document, Terms(self._models.select, known))
        made = self._database.write(lambda tx: store_archive(tx, unpacked, self._ids, token_fingerprint))
        for session_id in made:
            self._announcer.created(session_view(self._registry.row(session_id), None))
        return {"session_id": made[0], "sessions_imported": len(made)}

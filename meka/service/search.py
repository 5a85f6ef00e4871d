"""Finding sessions by the words of their conversations."""

from typing import Any

from meka.service.registry import Registry
from meka.service.views import session_view
from meka.store import search, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.search import Hit
from meka.store.sessions import SessionRow

_DEFAULT_LIMIT, _MOST = 20, 100


class Search:
    """Reads the index, in a thread that searches alone wait for."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database = database
        self._registry = registry

    def find(self, query: str, limit: int | None, *, include_children: bool) -> list[dict[str, Any]]:
        """The records of the sessions that hold the words, best first, each with its excerpt."""
        size = _DEFAULT_LIMIT if limit is None else min(max(limit, 1), _MOST)

        def read(tx: Tx) -> list[tuple[Hit, SessionRow]]:
            hits = search.find(tx, query, limit=size, include_children=include_children)
            rows = {row.id: row for row in sessions.get_many(tx, [hit.session_id for hit in hits])}
            return [(hit, rows[hit.session_id]) for hit in hits if hit.session_id in rows]

        return [self._record(hit, row) for hit, row in self._database.search(read)]

    def _record(self, hit: Hit, row: SessionRow) -> dict[str, Any]:
        record = session_view(row, self._registry.get(row.id))
        return record if hit.excerpt is None else record | {"excerpt": hit.excerpt}

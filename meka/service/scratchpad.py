"""The scratchpad of one session, as tools see it: its entries are rows of the store."""

from collections.abc import Callable, Sequence

from meka.agent.tools.base import ScratchpadEntry, ToolError
from meka.base.clock import rfc3339
from meka.store import scratchpad
from meka.store.database import Database


class SessionScratchpad:
    """Reads and writes the entries of one session."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    def get(self, name: str) -> ScratchpadEntry | None:
        """The entry of that name."""
        return next(iter(self._read(lambda other: other == name)), None)

    def put(self, name: str, content: str) -> None:
        """Write an entry, replacing one of the same name."""
        self._database.write(lambda tx: scratchpad.put(tx, self._session_id, name, content))

    def delete(self, name: str) -> bool:
        """Remove an entry; whether there was one."""
        return self._database.write(lambda tx: scratchpad.delete(tx, self._session_id, name))

    def rename(self, old: str, new: str) -> None:
        """Rename an entry. Raises: ToolError when the old one is missing or the new one exists."""
        if not self._database.write(lambda tx: scratchpad.rename(tx, self._session_id, old, new)):
            raise ToolError(f"'{old}' does not exist, or '{new}' does already")

    def entries(self) -> Sequence[ScratchpadEntry]:
        """Every entry, in the store's order."""
        return self._read(lambda _name: True)

    def _read(self, wanted: Callable[[str], bool]) -> list[ScratchpadEntry]:
        return self._database.read(
            lambda tx: [
                ScratchpadEntry(
                    row.name,
                    scratchpad.get(tx, self._session_id, row.name) or "",
                    rfc3339(row.created_at),
                )
                for row in scratchpad.list_entries(tx, self._session_id)
                if wanted(row.name)
            ]
        )

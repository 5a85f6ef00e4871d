"""One SQLite connection, and the face of it that a unit of work sees."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from peewee import SqliteDatabase

from meka.base.clock import Clock
from meka.base.text import scrub

# A WAL that a long reader made grow is cut back to this once it can be.
_WAL_LIMIT_BYTES = 64 * 1024 * 1024

# About a millisecond of SQLite's work.
_STEPS_BETWEEN_CHECKS = 10_000


class Connection:
    """A connection that no thread-local knows of: whoever holds it uses it, one thread at a time.

    peewee's own keeping of connections by thread would become one by greenlet in a patched process.
    """

    __slots__ = ("database",)

    def __init__(self, path: Path, *, wait_seconds: float, read_only: bool = False) -> None:
        pragmas: dict[str, int | str] = {"foreign_keys": 1, "synchronous": "FULL"}
        pragmas |= {"query_only": 1} if read_only else {"journal_size_limit": _WAL_LIMIT_BYTES}
        self.database: Any = _CleanSqliteDatabase(
            str(path),
            pragmas=pragmas,
            timeout=cast(int, wait_seconds),
            thread_safe=False,
            autoconnect=False,
            check_same_thread=False,
            cached_statements=512,
        )
        self.database.connect()

    @property
    def driver(self) -> sqlite3.Connection:
        """The connection of Python's own module."""
        return cast(sqlite3.Connection, self.database.connection())

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open (the driver knows; peewee counts its own `atomic` blocks only)."""
        return self.driver.in_transaction

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; all its rows."""
        return list(self.database.execute_sql(text, parameters).fetchall())

    @contextmanager
    def ended_when(self, is_over: Callable[[], bool]) -> Iterator[None]:
        """In the block, a statement at work when `is_over` fails with `SQLITE_INTERRUPT`."""
        self.driver.set_progress_handler(is_over, _STEPS_BETWEEN_CHECKS)
        try:
            yield
        finally:
            self.driver.set_progress_handler(None, _STEPS_BETWEEN_CHECKS)

    def roll_back(self) -> None:
        """End an open transaction, if there is one, with nothing of it kept."""
        if self.in_transaction:
            self.sql("ROLLBACK")

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()


class _CleanSqliteDatabase(SqliteDatabase):
    """peewee's SQLite, that no text can make fail: not in a column, and not in a comparison either."""

    def execute_sql(self, sql: str, params: Sequence[Any] | None = None) -> Any:
        cleaned = [_clean(value) for value in params or ()]
        return super().execute_sql(sql, cleaned)  # type: ignore[no-untyped-call]


def _clean(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return scrub(value)
    return scrub(value) if "\x00" in value else value


class Tx:
    """A transaction in progress; only good inside the function it is handed to, in that function's thread."""

    __slots__ = ("_clock", "_connection")

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def now(self) -> datetime:
        """The moment that a row made now is stamped with."""
        return self._clock.now()

    def rows(self, query: Any) -> list[dict[str, Any]]:
        """All rows of a peewee query, by column name."""
        return list(query.dicts().execute(self._connection.database))

    def row(self, query: Any) -> dict[str, Any] | None:
        """The first row of a peewee query, or None."""
        return next(iter(self.rows(query)), None)

    def execute(self, query: Any) -> int:
        """Run a peewee write. Shape: an insert answers its row's number, others the count of rows."""
        return int(query.execute(self._connection.database) or 0)

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run SQLite's own words (FTS5, recursive queries); all rows."""
        return self._connection.sql(text, parameters)

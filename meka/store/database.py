"""The store of a data directory: one file, one write gate, a few readers; opening it migrates it.

Nothing in the hub's thread touches SQLite: every call here hands its work to a native thread and waits in the
calling greenlet alone. What those functions return must be plain values, never lazy queries.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from gevent.threadpool import ThreadPool
from peewee import DatabaseError

from meka.base.clock import Clock
from meka.store.connection import Connection, Tx
from meka.store.failures import StoreOpenError, is_unavailable, translated
from meka.store.gate import Outcome, WriteGate
from meka.store.locks import SchemaLock
from meka.store.migrations import MIGRATIONS, Migration, migrate
from meka.store.readers import ReadPool

T = TypeVar("T")

SEARCH_SECONDS = 5.0
"""How long a search may take: over a million messages, the commonest words take a tenth of one of these."""

_READ_THREADS, _SEARCH_THREADS, _LONG_THREADS = 3, 1, 2
_COMPANIONS = ("", "-wal", "-shm")


class Database:
    """An open store. Serves the native thread that opened it, from any of its greenlets."""

    def __init__(
        self,
        path: Path,
        connection: Connection,
        tx: Tx,
        pool: ThreadPool,
        readers: ReadPool,
        searchers: ReadPool,
        long_readers: ReadPool,
    ) -> None:
        self.path = path
        self._connection = connection
        self._pool = pool
        self._gate = WriteGate(connection, tx, pool)
        self._readers = readers
        self._searchers = searchers
        self._long_readers = long_readers
        self._closed = False

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Clock,
        wait_seconds: float = 5.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> Self:
        """The store at `path`, made or migrated as needed.

        Raises: `StoreOpenError` with a sentence for the operator; `StoreUnavailableError` when it is busy.
        """
        _make_private(path)
        pool = ThreadPool(1)
        try:
            with SchemaLock(path.parent / "locks", wait_seconds=wait_seconds):
                connection = _in_thread(pool, lambda: _open_migrated(path, wait_seconds, migrations))
        except BaseException:
            pool.kill()
            raise
        readers = ReadPool(path, clock, threads=_READ_THREADS, wait_seconds=wait_seconds)
        searchers = ReadPool(
            path,
            clock,
            threads=_SEARCH_THREADS,
            wait_seconds=wait_seconds,
            deadline_seconds=SEARCH_SECONDS,
        )
        long_readers = ReadPool(path, clock, threads=_LONG_THREADS, wait_seconds=wait_seconds)
        return cls(path, connection, Tx(connection, clock), pool, readers, searchers, long_readers)

    def write(self, unit: Callable[[Tx], T]) -> T:
        """Run `unit` and return its answer once it is durable.

        Units that wait together share a commit; one that raises takes back its own writes only. A killed
        greenlet leaves its unit to run or not, atomically.

        Raises: what `unit` raised; `StoreUnavailableError` when the store is busy past its wait or the disk
        is full; `CommitFailedError`. After any of them the store holds nothing of the unit.
        """
        self._check_open()
        return self._gate.run(unit)

    def read(self, query: Callable[[Tx], T]) -> T:
        """Run `query` on one snapshot of the store, beside writers. Raises: as `write`."""
        self._check_open()
        return self._readers.run(query)

    def read_long(self, query: Callable[[Tx], T]) -> T:
        """As `read`, for what grows with a conversation: nobody who reads a little waits for it."""
        self._check_open()
        return self._long_readers.run(query)

    def search(self, query: Callable[[Tx], T]) -> T:
        """As `read`, in a thread apart: long reads wait for each other there, and nobody else for them.

        Raises: `StoreUnavailableError` too, `SEARCH_SECONDS` after the call.
        """
        self._check_open()
        return self._searchers.run(query)

    def close(self) -> None:
        """Refuse new work, let what waits be committed, and let go of the file."""
        if self._closed:
            return
        self._closed = True
        self._gate.drain()
        self._readers.close()
        self._searchers.close()
        self._long_readers.close()
        _in_thread(self._pool, self._connection.close)
        self._pool.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the store is closed")


def _make_private(path: Path) -> None:
    """Directory and file, for the owner alone; SQLite gives its companions the mode of the file."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        for suffix in _COMPANIONS:
            companion = path.with_name(path.name + suffix)
            if companion.exists():
                companion.chmod(0o600)
    except OSError as error:
        raise StoreOpenError(f"the store {path} cannot be opened: {error.strerror}") from error


def _open_migrated(path: Path, wait_seconds: float, migrations: Sequence[Migration]) -> Connection:
    try:
        connection = Connection(path, wait_seconds=wait_seconds)
        try:
            migrate(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    except DatabaseError as error:
        if is_unavailable(error):
            raise
        raise StoreOpenError(f"the store {path} cannot be opened: {error}") from error
    return connection


def _in_thread(pool: ThreadPool, work: Callable[[], T]) -> T:
    """`work`'s answer from the pool's thread; an error travels back without being printed there."""

    def guarded() -> Outcome:
        try:
            return Outcome(work())
        except BaseException as error:
            return Outcome(error=translated(error))

    outcome: Outcome = pool.spawn(guarded).get()
    answer: T = outcome.unwrap()
    return answer

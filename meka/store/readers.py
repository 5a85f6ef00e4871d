"""The readers: a few native threads, each query in a snapshot of its own on a read-only connection."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from gevent.threadpool import ThreadPool

from meka.base.clock import Clock
from meka.store.connection import Connection, Tx
from meka.store.failures import translated
from meka.store.gate import Outcome

T = TypeVar("T")


class ReadPool:
    """Runs queries beside the writer and beside each other.

    With `deadline_seconds`, SQLite gives a query up that long after it was asked, its wait for a thread
    included.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        threads: int,
        wait_seconds: float,
        deadline_seconds: float | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._deadline_seconds = deadline_seconds
        self._pool = ThreadPool(threads)
        # Connections that no thread uses now; append and pop of a list are atomic. Never more than threads.
        self._idle: list[Connection] = []

    def run(self, query: Callable[[Tx], T]) -> T:
        """`query`'s answer, from one snapshot. Raises: what it raised, `StoreUnavailableError`."""
        outcome: Outcome = self._pool.spawn(self._run_in_thread, query, self._clock.monotonic()).get()
        answer: T = outcome.unwrap()
        return answer

    def close(self) -> None:
        """Let running queries end, then close every connection."""
        self._pool.join()
        self._pool.spawn(self._close_idle).get()
        self._pool.kill()

    def _run_in_thread(self, query: Callable[[Tx], T], asked_at: float) -> Outcome:
        try:
            connection = self._take()
        except BaseException as error:
            return Outcome(error=translated(error))
        try:
            connection.sql("BEGIN")
            with self._bounded(connection, asked_at):
                return Outcome(query(Tx(connection, self._clock)))
        except BaseException as error:
            return Outcome(error=translated(error))
        finally:
            self._give_back(connection)

    def _bounded(self, connection: Connection, asked_at: float) -> AbstractContextManager[None]:
        if self._deadline_seconds is None:
            return nullcontext()
        deadline = asked_at + self._deadline_seconds
        return connection.ended_when(lambda: self._clock.monotonic() > deadline)

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return Connection(self._path, wait_seconds=self._wait_seconds, read_only=True)

    def _give_back(self, connection: Connection) -> None:
        """Back to the idle ones, or closed when it will not even roll back."""
        try:
            connection.roll_back()
        except BaseException:
            connection.close()
        else:
            self._idle.append(connection)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

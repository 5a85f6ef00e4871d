"""The write gate: one native thread owns the write connection and commits all that wait in one transaction.

    greenlet ─ run(unit) ─► waiting ─┐  end of the hub's round: all that wait become one batch
    greenlet ─ run(unit) ─► waiting ─┴► thread: BEGIN IMMEDIATE; a savepoint a unit; COMMIT ─► outcomes

The hub hands a whole batch over and gets a list of outcomes back, so no state is shared between threads. A
greenlet that is killed while it waits leaves its unit in the batch: the unit runs or not, atomically.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from gevent import get_hub
from gevent.event import AsyncResult, Event
from gevent.threadpool import ThreadPool

from meka.store.connection import Connection, Tx
from meka.store.failures import CommitFailedError, is_unavailable, translated

T = TypeVar("T")
Unit = Callable[[Tx], Any]


class Outcome:
    """What a unit answered or raised, on its way back from the thread."""

    __slots__ = ("_error", "_value")

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self._value = value
        self._error = error

    def unwrap(self) -> Any:
        """The value. Raises: what the unit raised."""
        if self._error is not None:
            raise self._error
        return self._value


class WriteGate:
    """Runs units of work one after the other and returns each one's answer after its commit."""

    def __init__(self, connection: Connection, tx: Tx, pool: ThreadPool) -> None:
        self._batches = Batches(connection, tx)
        self._pool = pool
        self._hub = get_hub()
        # Bounded by the greenlets there are: each waits for its own unit.
        self._waiting: list[tuple[Unit, AsyncResult]] = []
        self._settled = Event()
        self._settled.set()

    def run(self, unit: Callable[[Tx], T]) -> T:
        """`unit`'s answer, once it is committed. Raises: what it raised, `StoreUnavailableError`."""
        if get_hub() is not self._hub:
            raise RuntimeError("the write gate serves the thread that opened the store")
        result = AsyncResult()
        self._waiting.append((unit, result))
        if self._settled.is_set():
            self._settled.clear()
            # The end of this round of the hub, so that greenlets that are about to write share the commit.
            self._hub.loop.run_callback(self._send_batch)
        outcome: Outcome = result.get()
        answer: T = outcome.unwrap()
        return answer

    def drain(self) -> None:
        """Wait until all that was handed in is committed or has failed."""
        self._settled.wait()

    def _send_batch(self) -> None:
        """In the hub: never blocks, since one batch is in flight at most and the pool has room for two."""
        batch, self._waiting = self._waiting, []
        results = [result for _, result in batch]
        try:
            job = self._pool.spawn(self._batches.run, [unit for unit, _ in batch])
        except Exception as error:  # no thread, no memory: nobody may be left waiting
            self._deliver(results, _all_failed(error, len(results)))
        else:
            job.rawlink(lambda done: self._deliver(results, _outcomes_of(done, len(results))))

    def _deliver(self, results: list[AsyncResult], outcomes: list[Outcome]) -> None:
        for result, outcome in zip(results, outcomes, strict=True):
            result.set(outcome)
        if self._waiting:
            self._hub.loop.run_callback(self._send_batch)
        else:
            self._settled.set()


class Batches:
    """The thread's side: a transaction around a batch, a savepoint around each unit."""

    def __init__(self, connection: Connection, tx: Tx) -> None:
        self._connection = connection
        self._tx = tx

    def run(self, units: list[Unit]) -> list[Outcome]:
        """The outcome of each unit."""
        try:
            self._connection.sql("BEGIN IMMEDIATE")
            outcomes = [self._run_in_savepoint(unit) for unit in units]
            self._connection.sql("COMMIT")
        except BaseException as error:
            self._connection.roll_back()
            return _all_failed(error, len(units))
        return outcomes

    def _run_in_savepoint(self, unit: Unit) -> Outcome:
        self._connection.sql("SAVEPOINT unit")
        try:
            outcome = Outcome(unit(self._tx))
        except BaseException as error:
            if not self._connection.in_transaction:
                # SQLite ended the whole transaction by itself (a full disk, say): every unit of it fails.
                raise
            outcome = Outcome(error=translated(error))
            self._connection.sql("ROLLBACK TO unit")
        self._connection.sql("RELEASE unit")
        return outcome


def _all_failed(error: BaseException, count: int) -> list[Outcome]:
    """An error of its own for each unit: one that several greenlets raise would gather their tracebacks."""
    return [Outcome(error=_commit_error(error)) for _ in range(count)]


def _commit_error(error: BaseException) -> BaseException:
    if is_unavailable(error):
        return translated(error)
    failed = CommitFailedError("the transaction was not committed")
    failed.__cause__ = error
    return failed


def _outcomes_of(done: AsyncResult, count: int) -> list[Outcome]:
    if done.successful():
        outcomes: list[Outcome] = done.value
        return outcomes
    return _all_failed(done.exception, count)

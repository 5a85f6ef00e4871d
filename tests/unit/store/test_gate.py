"""The write gate: who shares a commit, and what becomes of a unit when it, another or the commit fails."""

import threading
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest
from gevent.threadpool import ThreadPool

from meka.base.errors import StoreUnavailableError
from meka.store.connection import Connection, Tx
from meka.store.failures import CommitFailedError
from meka.store.gate import WriteGate
from tests.unit.store.support import SetClock

WAIT = 20


class Traced:
    """A gate over a table of numbers, that counts its commits."""

    def __init__(self, path: Path) -> None:
        self.connection = Connection(path, wait_seconds=WAIT)
        self.connection.sql(
            "CREATE TABLE numbers (number INTEGER PRIMARY KEY, parent INTEGER REFERENCES numbers)"
        )
        self.statements: list[str] = []
        self.connection.driver.set_trace_callback(self.statements.append)
        self.pool = ThreadPool(1)
        self.gate = WriteGate(self.connection, Tx(self.connection, SetClock()), self.pool)

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")

    def numbers(self) -> list[int]:
        return self.gate.run(
            lambda tx: [row[0] for row in tx.sql("SELECT number FROM numbers ORDER BY number")]
        )

    def spawn_all(self, *units) -> list[gevent.Greenlet]:
        """Each unit in a greenlet of its own; ended when this returns, well or not."""
        greenlets = [gevent.spawn(self.gate.run, unit) for unit in units]
        gevent.joinall(greenlets, timeout=WAIT)
        return greenlets


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    traced = Traced(tmp_path / "numbers.db")
    yield traced
    traced.gate.drain()
    traced.pool.kill()
    traced.connection.close()


def add(number: int):
    return lambda tx: tx.sql("INSERT INTO numbers (number) VALUES (?)", (number,))


def add_and_fail(number: int):
    def unit(tx: Tx) -> None:
        add(number)(tx)
        raise ZeroDivisionError(str(number))

    return unit


def add_orphan(tx: Tx) -> None:
    """A row that only the commit finds fault with."""
    tx.sql("PRAGMA defer_foreign_keys = ON")
    tx.sql("INSERT INTO numbers (number, parent) VALUES (1000, 999)")


def outcome_of(greenlet: gevent.Greenlet) -> type[BaseException] | None:
    return None if greenlet.successful() else type(greenlet.exception)


def test_units_share_a_commit_when_they_wait_together(traced: Traced) -> None:
    greenlets = traced.spawn_all(*(add(number) for number in range(50)))

    assert [outcome_of(each) for each in greenlets] == [None] * 50
    assert traced.commits == 1
    assert traced.numbers() == list(range(50))


def test_units_that_arrive_during_a_commit_share_the_next_one(traced: Traced) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        entered.set()
        assert go_on.wait(WAIT)

    holder = gevent.spawn(traced.gate.run, hold)
    wait_for(entered)
    others = [gevent.spawn(traced.gate.run, add(number)) for number in range(20)]
    gevent.sleep(0)
    go_on.set()
    gevent.joinall([holder, *others], timeout=WAIT, raise_error=True)

    assert traced.commits == 2


def test_answer_comes_back_to_its_own_caller(traced: Traced) -> None:
    greenlets = traced.spawn_all(*(lambda tx, number=number: number * 2 for number in range(10)))

    assert [each.value for each in greenlets] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]


def test_failing_unit_takes_back_its_own_writes_only(traced: Traced) -> None:
    greenlets = traced.spawn_all(add(1), add_and_fail(2), add(3))

    assert [outcome_of(each) for each in greenlets] == [None, ZeroDivisionError, None]
    assert traced.commits == 1
    assert traced.numbers() == [1, 3]


def test_failed_commit_fails_every_unit_in_it(traced: Traced) -> None:
    greenlets = traced.spawn_all(add(1), add_orphan, add(3))

    assert [outcome_of(each) for each in greenlets] == [CommitFailedError] * 3
    assert len({id(each.exception) for each in greenlets}) == 3
    assert traced.numbers() == []


def test_gate_goes_on_after_a_failed_commit(traced: Traced) -> None:
    traced.spawn_all(add_orphan)
    traced.gate.run(add(7))

    assert traced.numbers() == [7]


def test_full_disk_fails_every_unit_of_the_transaction(traced: Traced) -> None:
    traced.gate.run(lambda tx: tx.sql("CREATE TABLE texts (text TEXT)"))
    limit = traced.gate.run(lambda tx: tx.sql("PRAGMA page_count")[0][0]) + 2
    traced.gate.run(lambda tx: tx.sql(f"PRAGMA max_page_count = {limit}"))

    greenlets = traced.spawn_all(
        add(1), lambda tx: tx.sql("INSERT INTO texts VALUES (?)", ("x" * 1_000_000,)), add(3)
    )

    assert [outcome_of(each) for each in greenlets] == [StoreUnavailableError] * 3
    assert traced.numbers() == []
    traced.gate.run(lambda tx: tx.sql("PRAGMA max_page_count = 100000"))
    traced.gate.run(add(4))
    assert traced.numbers() == [4]


def test_killed_waiter_leaves_its_unit_whole_and_the_gate_working(traced: Traced) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        entered.set()
        assert go_on.wait(WAIT)

    def add_two(tx: Tx) -> None:
        add(1)(tx)
        add(2)(tx)

    holder = gevent.spawn(traced.gate.run, hold)
    wait_for(entered)
    waiting = gevent.spawn(traced.gate.run, add_two)
    gevent.sleep(0)
    waiting.kill(timeout=WAIT)
    holder.kill(timeout=WAIT)
    go_on.set()
    traced.gate.run(add(3))

    assert waiting.ready()
    assert traced.numbers() in ([1, 2, 3], [3])


def test_drain_returns_when_everything_handed_in_is_committed(traced: Traced) -> None:
    greenlets = [gevent.spawn(traced.gate.run, add(number)) for number in range(5)]
    gevent.sleep(0)
    traced.gate.drain()
    gevent.joinall(greenlets, timeout=WAIT, raise_error=True)

    assert traced.commits == 1


def test_gate_refuses_a_foreign_thread(traced: Traced) -> None:
    def write() -> str:
        with pytest.raises(RuntimeError) as refused:
            traced.gate.run(add(1))
        return str(refused.value)

    assert "thread" in ThreadPool(1).apply(write)


def wait_for(event: threading.Event) -> None:
    """Wait for a native thread without holding the hub up."""
    with gevent.Timeout(WAIT):
        while not event.is_set():
            gevent.sleep(0.001)


class NoThread(ThreadPool):
    """A pool that cannot start anything."""

    def spawn(self, *_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")


def test_nobody_is_left_waiting_when_a_batch_cannot_be_handed_over(traced: Traced) -> None:
    gate = WriteGate(traced.connection, Tx(traced.connection, SetClock()), NoThread(1))
    for _ in range(2):
        with gevent.Timeout(WAIT), pytest.raises(CommitFailedError):
            gate.run(add(1))
    with gevent.Timeout(WAIT):
        gate.drain()


def test_those_who_wait_behind_a_busy_store_are_told_too(tmp_path: Path) -> None:
    path = tmp_path / "numbers.db"
    connection = Connection(path, wait_seconds=0.1)
    other = Connection(path, wait_seconds=0.1)
    other.sql("BEGIN IMMEDIATE")
    pool = ThreadPool(1)
    gate = WriteGate(connection, Tx(connection, SetClock()), pool)
    first = gevent.spawn(gate.run, lambda tx: None)
    gevent.sleep(0.02)
    second = gevent.spawn(gate.run, lambda tx: None)
    gevent.joinall([first, second], timeout=WAIT)
    other.close()
    gate.run(lambda tx: None)
    pool.kill()
    connection.close()

    assert [outcome_of(first), outcome_of(second)] == [StoreUnavailableError] * 2

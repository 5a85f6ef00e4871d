"""The store as the floors above use it: opened, read, written, closed, killed; the hub always goes on."""

import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import gevent
import pytest

from meka.base.errors import StoreUnavailableError
from meka.store import messages, sessions
from meka.store.connection import Tx
from meka.store.database import SEARCH_SECONDS, Database
from meka.store.failures import StoreOpenError
from tests.unit.store.support import SetClock, new_session, start_child

WAIT = 30

WORK_OF_MANY = """
import sys, threading
from pathlib import Path
import gevent
from meka.base.clock import SystemClock
from meka.store import messages, sessions
from meka.store.database import Database

def write(number):
    database.write(lambda tx: messages.append(tx, "s", messages.message("user", [{"number": number}])))
    return database.read(lambda tx: len(messages.load(tx, "s")))

with Database.open(Path(sys.argv[1]), clock=SystemClock()) as database:
    database.write(lambda tx: sessions.create(
        tx, "s", working_directory="/", permission="read", approvals=True, profile="p"))
    greenlets = [gevent.spawn(write, number) for number in range(100)]
    gevent.joinall(greenlets, raise_error=True, timeout=30)
    print(database.read(lambda tx: len(messages.load(tx, "s"))), min(each.value for each in greenlets) > 0)
"""

ENDLESS_WRITER = """
import sys
from pathlib import Path
import gevent
from meka.base.clock import SystemClock
from meka.store import messages, sessions
from meka.store.database import Database

database = Database.open(Path(sys.argv[1]), clock=SystemClock())
database.write(lambda tx: sessions.create(
    tx, "s", working_directory="/", permission="read", approvals=True, profile="p"))

def write(first):
    for number in range(first, 10**9, 8):
        rows = [messages.message("user", [{"number": number, "half": half}]) for half in (1, 2)]
        database.write(lambda tx: messages.append(tx, "s", *rows))
        print(number, flush=True)

gevent.joinall([gevent.spawn(write, first) for first in range(8)], raise_error=True)
"""


class Ticker:
    """A greenlet that runs every few milliseconds, as long as nothing holds the hub up."""

    def __init__(self) -> None:
        self.ticks = 0
        self._greenlet = gevent.spawn(self._tick)

    def _tick(self) -> None:
        while True:
            gevent.sleep(0.005)
            self.ticks += 1

    def stop(self) -> int:
        self._greenlet.kill()
        return self.ticks


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_open_makes_a_directory_and_files_for_the_owner_alone(database: Database, path: Path) -> None:
    database.write(lambda tx: new_session(tx, "s"))

    assert mode_of(path.parent) == 0o700
    files = [each for each in path.parent.iterdir() if each.is_file()]
    assert {each.name for each in files} >= {"meka.db", "meka.db-wal", "meka.db-shm"}
    assert {mode_of(each) for each in files} == {0o600}


def test_open_tightens_the_mode_of_a_store_that_was_readable(path: Path, clock: SetClock) -> None:
    Database.open(path, clock=clock).close()
    path.chmod(0o644)
    Database.open(path, clock=clock).close()

    assert mode_of(path) == 0o600


def test_open_says_why_a_path_cannot_be_a_store(tmp_path: Path, clock: SetClock) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreOpenError, match="cannot be opened"):
        Database.open(tmp_path / "file" / "meka.db", clock=clock)


def test_store_is_durable_by_its_settings(database: Database) -> None:
    def settings(tx: Tx) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return [tx.sql(f"PRAGMA {name}")[0][0] for name in names]

    assert database.write(settings) == ["wal", 2, 1]


def test_read_sees_a_write_that_returned(database: Database) -> None:
    database.write(lambda tx: new_session(tx, "s"))

    assert database.read(lambda tx: sessions.get(tx, "s")) is not None


def test_read_cannot_write(database: Database) -> None:
    with pytest.raises(Exception, match="readonly"):
        database.read(lambda tx: new_session(tx, "s"))


def test_read_is_of_one_snapshot(database: Database) -> None:
    database.write(lambda tx: new_session(tx, "s"))
    seen: list[int] = []

    def count(tx: Tx) -> int:
        return int(tx.sql("SELECT count(*) FROM messages")[0][0])

    def count_twice(tx: Tx) -> None:
        seen.append(count(tx))
        with closing(sqlite3.connect(database.path)) as other, other:
            other.execute(
                "INSERT INTO messages (session_id, kind, content, created_at) VALUES ('s', 'x', '', 0)"
            )
        seen.append(count(tx))

    database.read(count_twice)

    assert seen == [0, 0]
    assert database.read(count) == 1


def test_read_goes_on_after_one_that_failed(database: Database) -> None:
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            database.read(lambda tx: 1 // 0)

    assert database.read(lambda tx: tx.sql("SELECT 1")) == [(1,)]


def test_many_reads_at_once_all_answer(database: Database) -> None:
    greenlets = [gevent.spawn(database.read, lambda tx: tx.sql("SELECT 1")[0][0]) for _ in range(50)]
    gevent.joinall(greenlets, timeout=WAIT, raise_error=True)

    assert sum(each.value for each in greenlets) == 50


def test_long_read_holds_nobody_up(database: Database) -> None:
    count_far = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) "
    ticker = Ticker()
    database.read(lambda tx: tx.sql(count_far + "SELECT max(i) FROM n"))

    assert ticker.stop() >= 5


def test_busy_store_is_unavailable_in_bounded_time_and_holds_nobody_up(path: Path, clock: SetClock) -> None:
    wait_seconds = 0.5
    with Database.open(path, clock=clock, wait_seconds=wait_seconds) as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            ticker = Ticker()
            begin = time.monotonic()
            with pytest.raises(StoreUnavailableError):
                database.write(lambda tx: new_session(tx, "refused"))
            span = time.monotonic() - begin
            ticks = ticker.stop()
            other.execute("ROLLBACK")
        database.write(lambda tx: new_session(tx, "taken"))

        assert wait_seconds * 0.9 <= span < wait_seconds * 10
        assert ticks >= 5
        assert database.read(sessions.all_ids) == {"taken"}


def test_short_busyness_is_waited_out(path: Path, clock: SetClock) -> None:
    with (
        Database.open(path, clock=clock, wait_seconds=WAIT) as database,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        writing = gevent.spawn(database.write, lambda tx: new_session(tx, "s"))
        gevent.sleep(0.05)
        assert not writing.ready()
        other.execute("ROLLBACK")
        writing.get(timeout=WAIT)

        assert database.read(sessions.all_ids) == {"s"}


def test_two_stores_are_open_side_by_side(tmp_path: Path, clock: SetClock) -> None:
    with (
        Database.open(tmp_path / "one" / "meka.db", clock=clock) as one,
        Database.open(tmp_path / "two" / "meka.db", clock=clock) as two,
    ):
        one.write(lambda tx: new_session(tx, "first"))
        two.write(lambda tx: new_session(tx, "second"))

        assert one.read(sessions.all_ids) == {"first"}
        assert two.read(sessions.all_ids) == {"second"}


def test_two_openings_of_one_store_take_turns(path: Path, clock: SetClock) -> None:
    with Database.open(path, clock=clock) as one, Database.open(path, clock=clock) as two:
        greenlets = [
            gevent.spawn(store.write, lambda tx, name=name: new_session(tx, name))
            for store, name in ((one, "a"), (two, "b"), (one, "c"), (two, "d"))
        ]
        gevent.joinall(greenlets, timeout=WAIT, raise_error=True)

        assert one.read(sessions.all_ids) == {"a", "b", "c", "d"}


def test_close_commits_what_waits(path: Path, clock: SetClock) -> None:
    database = Database.open(path, clock=clock)
    go_on = threading.Event()
    holding = gevent.spawn(database.write, lambda tx: go_on.wait(WAIT))
    gevent.sleep(0.01)
    waiting = [
        gevent.spawn(database.write, lambda tx, name=name: new_session(tx, name)) for name in ("a", "b", "c")
    ]
    gevent.sleep(0.01)
    closing_store = gevent.spawn(database.close)
    gevent.sleep(0.01)
    go_on.set()
    gevent.joinall([holding, *waiting, closing_store], timeout=WAIT, raise_error=True)

    with Database.open(path, clock=clock) as again:
        assert again.read(sessions.all_ids) == {"a", "b", "c"}


def test_closed_store_refuses_work_and_closes_again_quietly(path: Path, clock: SetClock) -> None:
    database = Database.open(path, clock=clock)
    database.close()
    database.close()

    with pytest.raises(RuntimeError, match="closed"):
        database.write(lambda tx: None)
    with pytest.raises(RuntimeError, match="closed"):
        database.read(lambda tx: None)


@pytest.mark.parametrize("first_line", ["", "from gevent import monkey; monkey.patch_all()"])
def test_store_serves_a_whole_process(path: Path, first_line: str) -> None:
    child = start_child(f"{first_line}\n{WORK_OF_MANY}", str(path))
    output, errors = child.communicate(timeout=WAIT * 2)

    assert (errors, output.split(), child.returncode) == ("", ["100", "True"], 0)


def test_killed_writer_leaves_every_acknowledged_write_and_a_whole_store(path: Path, clock: SetClock) -> None:
    child = start_child("from gevent import monkey; monkey.patch_all()\n" + ENDLESS_WRITER, str(path))
    assert child.stdout is not None
    acknowledged = {int(child.stdout.readline()) for _ in range(300)}
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=WAIT)
    acknowledged |= {int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")}

    with Database.open(path, clock=clock) as database:
        assert database.read(lambda tx: tx.sql("PRAGMA integrity_check")) == [("ok",)]
        rows = database.read(lambda tx: messages.load(tx, "s"))
    halves = [(row.content[0]["number"], row.content[0]["half"]) for row in rows]
    assert {number for number, half in halves if half == 1} == {
        number for number, half in halves if half == 2
    }
    assert {number for number, _ in halves} >= acknowledged


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
LONG = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT MAX(i) FROM n"
)


def after_the_deadline(clock: SetClock, statement: str) -> Callable[[Tx], object]:
    """A query that is still to run a statement when a search's time is over."""

    def query(tx: Tx) -> object:
        clock.advance(seconds=SEARCH_SECONDS + 1)
        return tx.sql(statement)

    return query


def test_search_is_ended_at_its_deadline_and_the_next_one_is_not(database: Database, clock: SetClock) -> None:
    with pytest.raises(StoreUnavailableError, match="took too long"):
        database.search(after_the_deadline(clock, ENDLESS))

    assert database.search(lambda tx: tx.sql(LONG)) == [(100_000,)]


def test_wait_for_the_search_before_counts_towards_the_deadline(database: Database, clock: SetClock) -> None:
    may_go = threading.Event()
    before = gevent.spawn(database.search, lambda _tx: may_go.wait(WAIT))
    waiting = gevent.spawn(database.search, lambda tx: tx.sql(ENDLESS))
    gevent.idle()
    clock.advance(seconds=SEARCH_SECONDS + 1)
    may_go.set()

    assert before.get(timeout=WAIT)
    with pytest.raises(StoreUnavailableError):
        waiting.get(timeout=WAIT)


def test_read_has_no_deadline(database: Database, clock: SetClock) -> None:
    assert database.read(after_the_deadline(clock, LONG)) == [(100_000,)]

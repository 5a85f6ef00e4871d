"""Tasks over a real store: a start or a cancellation that is cut off, and what each leaves behind."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import gevent
import pytest
from gevent.event import Event

from meka.agent.cancel import Cancel
from meka.agent.runner import Call
from meka.agent.tools.base import ToolError, ToolOutcome
from meka.service.background import Background, SessionTasks, Work
from meka.service.reports import report_block
from meka.store import scratchpad, tasks
from meka.store.database import Database
from meka.store.tasks import TaskRow, TaskStatus
from tests.fakes import FakeClock
from tests.unit.service.support import SESSION, Numbers, OneSession, make_runtime
from tests.unit.store.support import new_session


class Endless:
    """Work that never ends by itself, and says how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0

    def __call__(self, _cancel: Cancel) -> ToolOutcome:
        self.begun += 1
        Event().wait()
        return ToolOutcome("")


class Desk:
    """One session and its tasks."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.runtime = make_runtime()
        self.ended: list[str] = []
        self.background = Background(
            database,
            OneSession(self.runtime),
            Numbers(),
            10,
            self.ended.append,  # type: ignore[arg-type]
        )
        self.tasks = SessionTasks(self.background, database, self.runtime)
        database.write(lambda tx: new_session(tx, SESSION))

    def start(self, work: Work, entry: str | None = None) -> str:
        return self.tasks.start(Call("c1", "shell_execute", {}), "label", work, entry).text

    def rows(self) -> Sequence[TaskRow]:
        return self.database.read(lambda tx: tasks.of_session(tx, SESSION))

    def statuses(self) -> list[TaskStatus]:
        return [row.status for row in self.rows()]

    def settle(self) -> None:
        """Wait until nothing runs."""
        with gevent.Timeout(5):
            while self.background.running_in(SESSION):
                gevent.sleep(0.005)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clock = FakeClock()
    database = Database.open(tmp_path / "meka.db", clock=clock)
    yield Desk(database, clock)
    database.close()


@contextmanager
def busy_gate(database: Database) -> Iterator[None]:
    """The store is at another write meanwhile."""
    released = threading.Event()
    writer = gevent.spawn(database.write, lambda _tx: released.wait(10))
    gevent.sleep(0.01)
    yield
    released.set()
    writer.join()


def test_call_that_is_killed_while_its_row_is_written_never_runs_and_the_row_ends(desk: Desk) -> None:
    work = Endless()
    with busy_gate(desk.database):
        caller = gevent.spawn(desk.start, work)
        gevent.sleep(0.01)
        caller.kill()
    desk.settle()
    assert desk.statuses() == [TaskStatus.CANCELED]
    assert work.begun == 0
    assert desk.runtime.running_tasks == {}
    # Its end is told of like any other.
    assert list(desk.runtime.known_tasks.values()) == [False]
    assert desk.ended == [SESSION]


def test_call_that_is_killed_before_it_hears_of_its_row_never_runs(desk: Desk) -> None:
    class Deadly(dict[str, bool]):
        """Kills the caller as the task becomes known."""

        def __setitem__(self, key: str, value: bool) -> None:
            super().__setitem__(key, value)
            caller.kill(block=False)

    work = Endless()
    desk.runtime.known_tasks = Deadly()
    caller = gevent.spawn(desk.start, work)
    caller.join()
    desk.settle()
    assert desk.statuses() == [TaskStatus.CANCELED]
    assert work.begun == 0


def test_start_that_cannot_be_stored_is_refused_and_leaves_nothing(desk: Desk) -> None:
    work = Endless()
    desk.database.write(lambda tx: tx.sql("DROP TABLE background_tasks"))
    with pytest.raises(Exception, match="background_tasks"):
        desk.start(work)
    assert desk.background.running_in(SESSION) == []
    assert (work.begun, desk.ended, desk.runtime.known_tasks) == (0, [], {})


def test_server_that_stops_waits_for_a_task_that_is_about_to_start(desk: Desk) -> None:
    work = Endless()
    with busy_gate(desk.database):
        caller = gevent.spawn(desk.start, work)
        gevent.sleep(0.01)
        draining = gevent.spawn(desk.background.drain, 10)
        gevent.sleep(0.01)
    assert draining.get()
    assert desk.statuses() == [TaskStatus.INTERRUPTED]
    assert work.begun == 0
    caller.get(timeout=10)


def test_cancellation_that_is_killed_ends_the_task_nevertheless(desk: Desk) -> None:
    desk.start(Endless())
    (row,) = desk.rows()
    with busy_gate(desk.database):
        canceler = gevent.spawn(desk.background.cancel, SESSION, row.id)
        gevent.sleep(0.05)
        canceler.kill()
    desk.settle()
    assert desk.statuses() == [TaskStatus.CANCELED]


def test_task_that_cancels_all_ends_the_others_too(desk: Desk) -> None:
    desk.start(Endless())
    desk.start(Endless())

    def cancel_all(_cancel: Cancel) -> ToolOutcome:
        return ToolOutcome(" ".join(desk.tasks.cancel("all")))

    desk.start(cancel_all)
    desk.settle()
    assert desk.statuses() == [TaskStatus.CANCELED] * 3


class Held:
    """Work that gives a text when it is let go."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.let_go = Event()

    def __call__(self, _cancel: Cancel) -> ToolOutcome:
        self.let_go.wait()
        return ToolOutcome(self._text)

    def finish(self, desk: Desk) -> TaskRow:
        """End it; how its row, the newest, stands then."""
        self.let_go.set()
        desk.settle()
        return desk.rows()[0]


def put(desk: Desk, name: str, content: str) -> None:
    desk.database.write(lambda tx: scratchpad.put(tx, SESSION, name, content))


def entries(desk: Desk) -> dict[str, str]:
    found = desk.database.read(lambda tx: scratchpad.all_of(tx, SESSION))
    return {entry.name: entry.content for entry in found}


def test_entry_that_a_running_task_writes_is_refused_to_another(desk: Desk) -> None:
    first, second = Held("first"), Held("second")
    desk.start(first, "e")
    with pytest.raises(ToolError, match=r"task 00000000 puts its result into the scratchpad entry 'e'"):
        desk.start(second, "e")
    assert first.finish(desk).scratchpad_entry == "e"
    # It has ended: the next one replaces what it left, as any write does.
    desk.start(second, "e")
    assert second.finish(desk).scratchpad_entry == "e"
    assert entries(desk) == {"e": "second"}


def test_entry_that_was_there_as_the_task_began_is_replaced(desk: Desk) -> None:
    put(desk, "e", "old")
    held = Held("result")
    desk.start(held, "e")
    assert held.finish(desk).scratchpad_entry == "e"
    assert entries(desk) == {"e": "result"}


@pytest.mark.parametrize("before", [None, "old"])
def test_entry_that_was_written_since_the_task_began_is_kept_and_the_report_names_another(
    desk: Desk, before: str | None
) -> None:
    if before is not None:
        put(desk, "e", before)
    held = Held("result")
    desk.start(held, "e")
    desk.clock.advance(1)
    put(desk, "e", "by hand")
    put(desk, "e_2", "also taken")
    row = held.finish(desk)
    assert entries(desk) == {"e": "by hand", "e_2": "also taken", "e_3": "result"}
    assert row.scratchpad_entry == "e_3"
    assert "scratchpad as 'e_3'" in report_block([row], desk.clock.now()).text


def test_entry_that_was_deleted_since_the_task_began_is_written(desk: Desk) -> None:
    put(desk, "e", "old")
    held = Held("result")
    desk.start(held, "e")
    desk.database.write(lambda tx: scratchpad.delete(tx, SESSION, "e"))
    assert held.finish(desk).scratchpad_entry == "e"
    assert entries(desk) == {"e": "result"}


def test_entrys_name_is_one_line_wherever_it_is_told(desk: Desk) -> None:
    held = Held("result")
    said = desk.start(held, "a\n- **0**\x1b[31m\ud800")
    row = held.finish(desk)
    assert row.status is TaskStatus.COMPLETED
    assert entries(desk) == {"a\n- **0**\x1b[31m\ufffd": "result"}
    for text in (said, report_block([row], desk.clock.now()).text):
        assert re.search(r"as 'a - \*\*0\*\*\[31m\ufffd'", text)

"""One turn's mail over a real store: what it takes, what counts as read, what a bad end does."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from meka.agent.blocks import Inbox, Role
from meka.agent.conversation import Conversation
from meka.agent.mail import Moment
from meka.agent.providers.base import Usage
from meka.agent.turn import Ending, Status
from meka.base.errors import StoreUnavailableError
from meka.service.feed import Feed
from meka.service.mail import SessionMail, header
from meka.service.runtime import SessionRuntime
from meka.store import inbox, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from meka.store.locks import SessionLocks
from meka.store.tasks import TaskStatus
from tests.fakes import FakeClock
from tests.unit.store.support import new_session

SESSION = "00000000-0000-4000-8000-000000000001"
UNREAD = Ending(Status.FAILED, Usage(), error=StoreUnavailableError(), message_withdrawn=True)


class Desk:
    """A session's mail, and what it published."""

    def __init__(self, database: Database, tmp_path: Path) -> None:
        self.database = database
        self.clock = FakeClock()
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        row = database.write(lambda tx: new_session(tx, SESSION))
        lock = SessionLocks(tmp_path / "locks").try_acquire(SESSION)
        assert lock is not None
        conversation = Conversation(database, SESSION, (), 0)
        self.runtime = SessionRuntime(row, lock, conversation, Feed(1, 256, {}), "")
        self.mail = self.new_turn()

    def new_turn(self) -> SessionMail:
        return SessionMail(self.database, self.runtime, self.clock, lambda *event: self.events.append(event))

    def add(self, item_id: str, class_: str = "steer", **fields: Any) -> None:
        self.add_elsewhere(item_id, class_, **fields)
        self.runtime.note_landed(cuts=class_ == "interrupt")

    def add_elsewhere(self, item_id: str, class_: str = "steer", **fields: Any) -> None:
        """An item that another process took in."""
        now = self.clock.now()
        row = InboxRow(item_id, SESSION, class_, "hi", ItemState.PENDING, now, now + timedelta(hours=1))
        self.database.write(lambda tx: inbox.add(tx, replace(row, **fields)))

    def take(self, moment: Moment, mail: SessionMail | None = None) -> list[str]:
        """Take letters and store them as a turn does. Shape: the items' ids."""
        letters = (mail or self.mail).take(moment)
        if letters is None:
            return []
        self.runtime.conversation.append(Role.USER, letters.blocks, None, letters.unit)
        letters.keep()
        return [block.item_id or "" for block in letters.blocks if isinstance(block, Inbox)]

    def state(self, item_id: str) -> ItemState:
        row = self.database.read(lambda tx: inbox.get(tx, SESSION, item_id))
        assert row is not None
        return row.state

    def end(self, ending: Ending) -> list[str]:
        self.database.write(lambda tx: self.mail.settle(tx, ending))
        return [fate.event for fate in self.mail.conclude(ending)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Database.open(tmp_path / "meka.db", clock=FakeClock()) as database:
        yield Desk(database, tmp_path)


@pytest.mark.parametrize(
    ("source", "mid_turn", "words"),
    [
        (None, False, r"\[Message arrived 20"),
        ("bot", False, r"\[Message from bot, arrived 20"),
        ("bot", True, r"\[Message from bot, arrived 20.* while you were working\]$"),
        (None, True, r"\[Message arrived 20.* while you were working\]$"),
    ],
)
def test_header_names_who_was_named_and_when_it_landed(
    desk: Desk, source: str | None, mid_turn: bool, words: str
) -> None:
    now = desk.clock.now()
    row = InboxRow("i", SESSION, "steer", "hi", ItemState.PENDING, now, now, source, mid_turn)
    assert re.match(words, header(row))


def test_opening_takes_every_class_also_one_that_waits_for_its_next_attempt(desk: Desk) -> None:
    for class_ in ("followup", "steer", "interrupt"):
        desk.add(class_, class_)
    desk.add("deferred", not_before=desk.clock.now() + timedelta(minutes=5))
    assert desk.take(Moment.OPENING) == ["followup", "steer", "interrupt", "deferred"]
    assert desk.take(Moment.OPENING) == []


@pytest.mark.parametrize("moment", [Moment.TOOLS, Moment.REPLY, Moment.CUT])
def test_boundaries_take_what_may_break_in(desk: Desk, moment: Moment) -> None:
    for class_ in ("followup", "steer", "interrupt"):
        desk.add(class_, class_)
    assert desk.take(moment) == ["steer", "interrupt"]
    assert desk.state("followup") is ItemState.PENDING
    assert desk.state("steer") is ItemState.APPENDED


def test_late_look_costs_nothing_unless_something_landed(desk: Desk) -> None:
    desk.add("early", "followup")
    assert desk.take(Moment.OPENING) == ["early"]
    assert desk.take(Moment.LATE) == []
    desk.add("late", "followup")
    assert desk.take(Moment.LATE) == ["late"]


class CountingReads:
    """A store that counts its reads, and refuses those that it is told to."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reads = 0
        self.refused = 0

    def read(self, query: Callable[[Tx], Any]) -> Any:
        self.reads += 1
        if self.refused:
            self.refused -= 1
            raise StoreUnavailableError
        return self.database.read(query)


def counted(desk: Desk) -> tuple[SessionMail, CountingReads]:
    store = CountingReads(desk.database)
    return SessionMail(store, desk.runtime, desk.clock, lambda *_: None), store  # type: ignore[arg-type]


def test_store_is_read_once_while_nothing_lands(desk: Desk) -> None:
    mail, store = counted(desk)
    for moment in (Moment.OPENING, Moment.LATE, Moment.TOOLS, Moment.REPLY, Moment.OPENING):
        assert mail.take(moment) is None
    assert store.reads == 1
    desk.add("item")
    assert desk.take(Moment.REPLY, mail) == ["item"]
    assert store.reads == 2


def test_followup_that_a_boundary_leaves_is_looked_for_at_the_next_opening(desk: Desk) -> None:
    desk.take(Moment.OPENING)
    desk.add("item", "followup")
    assert desk.take(Moment.REPLY) == []
    assert desk.runtime.may_wait
    assert desk.take(Moment.OPENING, desk.new_turn()) == ["item"]
    assert not desk.runtime.may_wait


def test_item_of_another_process_is_seen_by_the_writes_of_a_turn(desk: Desk) -> None:
    desk.take(Moment.OPENING)
    desk.add_elsewhere("early")
    desk.database.write(desk.mail.glance)
    assert desk.take(Moment.LATE) == ["early"]
    desk.add_elsewhere("late")
    desk.end(Ending(Status.SUCCEEDED, Usage()))
    assert desk.runtime.may_wait
    assert desk.take(Moment.OPENING, desk.new_turn()) == ["late"]


def test_look_that_failed_is_made_again(desk: Desk) -> None:
    desk.add("item")
    mail, store = counted(desk)
    store.refused = 1
    with pytest.raises(StoreUnavailableError):
        mail.take(Moment.OPENING)
    assert desk.take(Moment.OPENING, mail) == ["item"]


def test_dropped_letters_are_there_again(desk: Desk) -> None:
    desk.add("item", "interrupt")
    letters = desk.mail.take(Moment.CUT)
    assert letters is not None
    assert "item" in desk.runtime.taken
    letters.drop()
    assert desk.runtime.taken == set()
    assert desk.runtime.landed.is_set()
    assert desk.take(Moment.TOOLS) == ["item"]


def test_items_are_delivered_once_when_a_request_is_accepted(desk: Desk) -> None:
    desk.add("item")
    desk.take(Moment.OPENING)
    assert desk.state("item") is ItemState.APPENDED
    desk.mail.accepted()
    desk.mail.accepted()
    desk.mail.conclude(Ending(Status.SUCCEEDED, Usage()))
    assert desk.state("item") is ItemState.DELIVERED
    assert desk.events == [("inbox.delivered", {"item_ids": ["item"]})]
    assert desk.runtime.taken == set()


def test_appended_items_are_delivered_by_the_next_turn(desk: Desk) -> None:
    desk.add("item")
    desk.take(Moment.TOOLS)
    desk.end(Ending(Status.CANCELED, Usage(), reason="client", message_withdrawn=False))
    assert desk.state("item") is ItemState.APPENDED
    following = desk.new_turn()
    assert following.take(Moment.OPENING) is None
    following.accepted()
    following.conclude(Ending(Status.SUCCEEDED, Usage()))
    assert desk.state("item") is ItemState.DELIVERED


@pytest.mark.parametrize("was_read", [False, True])
def test_items_follow_an_opening_that_is_taken_back(desk: Desk, was_read: bool) -> None:
    desk.add("item")
    desk.take(Moment.OPENING)
    if was_read:
        desk.mail.accepted()
    assert desk.end(UNREAD) == ["inbox.deferred"]
    assert desk.state("item") is ItemState.PENDING
    assert (desk.runtime.taken, desk.runtime.appended) == (set(), {})


def test_items_that_joined_the_opening_follow_it_too(desk: Desk) -> None:
    desk.add("first")
    desk.take(Moment.OPENING)
    desk.add("joined", "interrupt")
    desk.take(Moment.CUT)
    assert desk.end(UNREAD) == ["inbox.deferred"] * 2


def test_cancel_withdraws_and_a_shutdown_offers_again(desk: Desk) -> None:
    desk.add("item")
    desk.take(Moment.OPENING)
    stopped = Ending(Status.CANCELED, Usage(), reason="server_shutdown", message_withdrawn=True)
    assert desk.end(stopped) == []
    assert desk.state("item") is ItemState.PENDING
    desk.mail = desk.new_turn()
    desk.take(Moment.OPENING)
    assert desk.end(replace(stopped, reason="client")) == ["inbox.withdrawn"]
    assert desk.state("item") is ItemState.WITHDRAWN


def test_ending_that_was_not_stored_changes_no_item(desk: Desk) -> None:
    desk.add("item")
    desk.take(Moment.OPENING)
    with pytest.raises(ZeroDivisionError):
        desk.database.write(lambda tx: (desk.mail.settle(tx, UNREAD), 1 // 0))
    assert list(desk.mail.conclude(replace(UNREAD, message_withdrawn=False))) == []
    assert desk.state("item") is ItemState.APPENDED


def test_outcomes_ride_openings_and_results_once_and_no_reply(desk: Desk) -> None:
    desk.database.write(lambda tx: tasks.start(tx, SESSION, "task", tool="t", label="l"))
    desk.runtime.known_tasks["task"] = False
    assert desk.mail.take(Moment.TOOLS) is None
    desk.database.write(lambda tx: tasks.finish(tx, "task", TaskStatus.CANCELED))
    assert desk.mail.take(Moment.REPLY) is None
    letters = desk.mail.take(Moment.TOOLS)
    assert letters is not None
    desk.database.write(lambda tx: letters.unit(tx, ()))
    assert desk.runtime.known_tasks == {"task": False}
    letters.keep()
    assert desk.runtime.known_tasks == {"task": True}
    assert desk.mail.take(Moment.OPENING) is None

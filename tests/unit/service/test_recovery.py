"""What a dead process left: an opening that nothing answered goes back to the inbox, nothing else does."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from meka.agent.blocks import BackgroundReport, Block, Inbox, Role, Text, TurnContext
from meka.agent.conversation import Conversation
from meka.service.recovery import offer_unanswered
from meka.store import inbox, turns
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from tests.fakes import FakeClock
from tests.unit.store.support import new_session

SESSION = "00000000-0000-4000-8000-000000000001"
CONTEXT = TurnContext("<context></context>")
ITEM = Inbox("[Message arrived]\nhi", "hi", "item", "steer")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    clock = FakeClock()
    with Database.open(tmp_path / "meka.db", clock=clock) as opened:
        opened.write(lambda tx: new_session(tx, SESSION))
        now = clock.now()
        row = InboxRow("item", SESSION, "steer", "hi", ItemState.PENDING, now, now + timedelta(hours=1))
        opened.write(lambda tx: inbox.add(tx, row))
        yield opened


def open_turn(database: Database, *opening: Block, source: str = "inbox", read: bool = False) -> Conversation:
    """A turn whose opening carries the item, as its process left it."""
    database.write(lambda tx: turns.start(tx, SESSION, "turn", source=source, permission="read"))
    conversation = Conversation.load(database, SESSION, 0)
    conversation.append(
        Role.USER, opening, "turn", lambda tx, rows: inbox.mark_appended(tx, ["item"], rows[-1].seq)
    )
    if read:
        database.write(lambda tx: inbox.mark_delivered(tx, ["item"]))
    return conversation


def state(database: Database) -> ItemState:
    row = database.read(lambda tx: inbox.get(tx, SESSION, "item"))
    assert row is not None
    return row.state


@pytest.mark.parametrize("read", [False, True])
def test_unanswered_opening_is_taken_back_and_its_items_are_offered_again(
    database: Database, read: bool
) -> None:
    conversation = open_turn(database, CONTEXT, ITEM, read=read)
    offer_unanswered(database, conversation)
    assert state(database) is ItemState.PENDING
    assert conversation.entries == []
    assert Conversation.load(database, SESSION, 1).entries == []
    assert conversation.revision == 1


def test_outcome_that_rode_it_stays(database: Database) -> None:
    report = BackgroundReport("ended", ("task",))
    conversation = open_turn(database, CONTEXT, report, ITEM)
    offer_unanswered(database, conversation)
    assert [message.content for message in conversation.messages] == [(report,)]
    assert state(database) is ItemState.PENDING


def test_clients_message_keeps_what_rode_it(database: Database) -> None:
    conversation = open_turn(database, CONTEXT, Text("go"), ITEM, source="client")
    offer_unanswered(database, conversation)
    assert (state(database), conversation.total) == (ItemState.APPENDED, 1)


def test_turn_that_had_an_answer_keeps_its_items(database: Database) -> None:
    conversation = open_turn(database, CONTEXT, ITEM)
    conversation.append(Role.ASSISTANT, (Text("half"),), "turn")
    offer_unanswered(database, conversation)
    assert (state(database), conversation.total) == (ItemState.APPENDED, 2)


def test_turn_that_ended_is_left_alone(database: Database) -> None:
    conversation = open_turn(database, CONTEXT, ITEM)
    database.write(lambda tx: turns.finish(tx, SESSION, "turn", status="failed"))
    offer_unanswered(database, conversation)
    assert (state(database), conversation.total) == (ItemState.APPENDED, 1)


def test_empty_conversation_has_nothing_to_offer(database: Database) -> None:
    offer_unanswered(database, Conversation.load(database, SESSION, 0))
    assert state(database) is ItemState.PENDING

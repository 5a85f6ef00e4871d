"""The scratchpad's entries."""

import pytest

from meka.store import scratchpad
from meka.store.database import Database
from meka.store.scratchpad import ScratchpadEntry
from tests.unit.store.support import START, SetClock, new_session


@pytest.fixture(autouse=True)
def two_sessions(database: Database) -> None:
    database.write(lambda tx: [new_session(tx, "a"), new_session(tx, "b")])


def put(database: Database, name: str, content: str, session_id: str = "a") -> ScratchpadEntry:
    return database.write(lambda tx: scratchpad.put(tx, session_id, name, content))


def get(database: Database, name: str, session_id: str = "a") -> str | None:
    return database.read(lambda tx: scratchpad.get(tx, session_id, name))


def names(database: Database, session_id: str = "a") -> list[str]:
    return [entry.name for entry in database.read(lambda tx: scratchpad.list_entries(tx, session_id))]


def test_entry_comes_back_and_belongs_to_its_session(database: Database) -> None:
    assert put(database, "note", "ä") == ScratchpadEntry("note", 2, START)
    assert get(database, "note") == "ä"
    assert get(database, "note", "b") is None
    assert database.read(lambda tx: scratchpad.list_entries(tx, "a")) == [ScratchpadEntry("note", 2, START)]


def test_put_replaces_the_whole_entry(database: Database, clock: SetClock) -> None:
    put(database, "note", "a long one")
    now = clock.advance(seconds=1)
    put(database, "note", "")

    assert get(database, "note") == ""
    assert database.read(lambda tx: scratchpad.list_entries(tx, "a")) == [ScratchpadEntry("note", 0, now)]


def test_deleted_entry_is_gone(database: Database) -> None:
    put(database, "note", "text")

    assert database.write(lambda tx: scratchpad.delete(tx, "a", "note")) is True
    assert database.write(lambda tx: scratchpad.delete(tx, "a", "note")) is False
    assert names(database) == []


def test_rename_never_overwrites(database: Database) -> None:
    put(database, "one", "1")
    put(database, "two", "2")

    assert database.write(lambda tx: scratchpad.rename(tx, "a", "one", "two")) is False
    assert database.write(lambda tx: scratchpad.rename(tx, "a", "nothing", "three")) is False
    assert database.write(lambda tx: scratchpad.rename(tx, "a", "one", "three")) is True
    assert (names(database), get(database, "three"), get(database, "two")) == (["three", "two"], "1", "2")


def test_copy_gives_a_fork_the_same_entries(database: Database, clock: SetClock) -> None:
    put(database, "note", "text")
    clock.advance(seconds=1)
    database.write(lambda tx: scratchpad.copy(tx, "a", "b"))
    put(database, "note", "changed")

    assert get(database, "note", "b") == "text"
    assert database.read(lambda tx: scratchpad.list_entries(tx, "b")) == [ScratchpadEntry("note", 4, START)]


def test_text_that_cannot_be_stored_is_replaced(database: Database) -> None:
    put(database, "n\x00", "a\ud800")

    assert get(database, "n\x00") == "a\ufffd"
    assert names(database) == ["n\ufffd"]

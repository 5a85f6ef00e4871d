"""Sessions as rows: what is stored comes back, changes are partial, trees go whole."""

from datetime import UTC, datetime, timedelta

import pytest

from meka.store import blobs, messages, scratchpad, sessions, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.sessions import SessionRow
from tests.unit.store.support import START, SetClock, new_session

FULL = SessionRow(
    id="full",
    created_at=START,
    updated_at=START + timedelta(microseconds=1),
    working_directory="/work/ä",
    permission="workspace",
    approvals=False,
    profile="main",
    project="apollo",
    capabilities={"supports_elicitation": True, "nested": {"list": [1, None, "x"]}},
    title="A title",
    first_words="first words",
    pinned_at=datetime(2030, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    token_fingerprint="0011223344556677",
    spawn={"depth": 3},
    revision=4,
    context_tokens=123,
)


def get(database: Database, session_id: str) -> SessionRow:
    session = database.read(lambda tx: sessions.get(tx, session_id))
    assert session is not None
    return session


def test_session_comes_back_as_it_was_stored(database: Database) -> None:
    added = database.write(lambda tx: sessions.add(tx, FULL))

    assert added == FULL
    assert get(database, "full") == FULL


def test_created_session_is_made_now_and_holds_the_defaults(database: Database) -> None:
    created = database.write(lambda tx: new_session(tx, "s"))

    assert created == get(database, "s")
    assert (created.created_at, created.updated_at) == (START, START)
    assert (created.project, created.capabilities, created.revision) == ("", {}, 0)
    assert (created.title, created.pinned_at, created.spawn, created.last_turn) == (None,) * 4


def test_unknown_session_is_none(database: Database) -> None:
    assert database.read(lambda tx: sessions.get(tx, "nobody")) is None
    assert database.write(lambda tx: sessions.update(tx, "nobody", touch=True, title="x")) is None


def test_sessions_come_in_the_order_they_are_asked_for(database: Database) -> None:
    database.write(lambda tx: [new_session(tx, each) for each in "abc"])
    found = database.read(lambda tx: sessions.get_many(tx, ["c", "nobody", "a"]))

    assert [each.id for each in found] == ["c", "a"]


def test_update_changes_what_is_named_only(database: Database) -> None:
    database.write(lambda tx: sessions.add(tx, FULL))
    updated = database.write(
        lambda tx: sessions.update(
            tx, "full", touch=False, title=None, pinned_at=None, approvals=True, capabilities={"a": False}
        )
    )

    assert updated == get(database, "full")
    assert updated is not None
    assert (updated.title, updated.pinned_at, updated.approvals, updated.capabilities) == (
        None, None, True, {"a": False},
    )  # fmt: skip
    assert (updated.updated_at, updated.profile, updated.spawn) == (FULL.updated_at, "main", {"depth": 3})


def test_update_moves_updated_at_when_it_touches(database: Database, clock: SetClock) -> None:
    database.write(lambda tx: new_session(tx, "s"))
    now = clock.advance(hours=1)

    database.write(lambda tx: sessions.update(tx, "s", touch=False, title="x"))
    assert get(database, "s").updated_at == START
    database.write(lambda tx: sessions.update(tx, "s", touch=True))
    assert get(database, "s").updated_at == now


def test_first_words_are_noted_once_on_one_line_and_cut(database: Database) -> None:
    database.write(lambda tx: new_session(tx, "s"))
    database.write(lambda tx: sessions.note_first_words(tx, "s", "  \n "))
    assert get(database, "s").first_words is None

    database.write(lambda tx: sessions.note_first_words(tx, "s", "  one\n\ttwo\x00 " + "x" * 300))
    database.write(lambda tx: sessions.note_first_words(tx, "s", "later"))

    words = get(database, "s").first_words
    assert words is not None
    assert words.startswith("one two")
    assert len(words) == 200


def test_revision_is_counted_by_one(database: Database) -> None:
    database.write(lambda tx: [new_session(tx, each) for each in "ab"])

    assert [database.write(lambda tx: sessions.bump_revision(tx, "a")) for _ in range(3)] == [1, 2, 3]
    assert (get(database, "a").revision, get(database, "b").revision) == (3, 0)


def test_record_carries_the_latest_turn(database: Database) -> None:
    def fill(tx: Tx) -> None:
        new_session(tx, "s")
        new_session(tx, "other")
        for turn_id in ("t1", "t2"):
            turns.start(tx, "s", turn_id, source="client", permission="read")
        turns.start(tx, "other", "t3", source="client", permission="read")

    database.write(fill)

    last = get(database, "s").last_turn
    assert last is not None
    assert last.id == "t2"


def test_tree_is_deleted_whole_children_first(database: Database) -> None:
    def fill(tx: Tx) -> None:
        new_session(tx, "root")
        new_session(tx, "child", parent_id="root")
        new_session(tx, "grandchild", parent_id="child")
        new_session(tx, "bystander")
        for session_id in ("root", "grandchild", "bystander"):
            messages.append(tx, session_id, messages.message("user", []))
            turns.start(tx, session_id, f"turn of {session_id}", source="client", permission="read")
            scratchpad.put(tx, session_id, "note", "text")
            blobs.put(tx, session_id, "image/png", session_id.encode())
            blobs.put(tx, session_id, "image/png", b"shared")

    database.write(fill)

    assert database.write(lambda tx: sessions.delete_tree(tx, "root")) == ["grandchild", "child", "root"]
    assert database.write(lambda tx: sessions.delete_tree(tx, "root")) == []
    assert database.read(sessions.all_ids) == {"bystander"}
    for table, left in (
        ("messages", 1),
        ("turns", 1),
        ("scratchpad_entries", 1),
        ("session_blobs", 2),
        ("blobs", 2),
    ):
        assert database.read(lambda tx, table=table: tx.sql(f"SELECT count(*) FROM {table}")) == [(left,)]


def test_parent_cannot_be_one_that_does_not_exist(database: Database) -> None:
    with pytest.raises(Exception, match="FOREIGN KEY"):
        database.write(lambda tx: new_session(tx, "s", parent_id="nobody"))


def test_children_are_the_direct_ones_oldest_first(database: Database, clock: SetClock) -> None:
    database.write(lambda tx: new_session(tx, "root"))
    for name in ("z", "a"):
        database.write(lambda tx, name=name: new_session(tx, name, parent_id="root"))
        clock.advance(seconds=1)
    database.write(lambda tx: new_session(tx, "below", parent_id="a"))

    assert [each.id for each in database.read(lambda tx: sessions.children(tx, "root"))] == ["z", "a"]


def test_profile_is_renamed_everywhere_without_touching(database: Database, clock: SetClock) -> None:
    database.write(
        lambda tx: [new_session(tx, "a"), new_session(tx, "b"), new_session(tx, "c", profile="other")]
    )
    clock.advance(seconds=1)

    assert database.write(lambda tx: sessions.rename_profile(tx, "main", "new")) == ["a", "b"]
    assert database.read(sessions.count_by_profile) == {"new": 2, "other": 1}
    assert get(database, "a").updated_at == START


def test_stale_roots_are_unpinned_and_older(database: Database, clock: SetClock) -> None:
    database.write(lambda tx: [new_session(tx, each) for each in ("old", "pinned")])
    database.write(lambda tx: new_session(tx, "child", parent_id="old"))
    database.write(lambda tx: sessions.update(tx, "pinned", touch=False, pinned_at=START))
    now = clock.advance(microseconds=1)
    database.write(lambda tx: new_session(tx, "new"))

    assert database.read(lambda tx: sessions.stale_roots(tx, now)) == ["old"]

"""Turns as rows: begun, ended once, listed newest first."""

from datetime import timedelta

import pytest

from meka.store import turns
from meka.store.database import Database
from meka.store.turns import TurnRow, TurnUsage
from tests.unit.store.support import START, SetClock, new_session

USAGE = TurnUsage(1, 2, 3, 4)


@pytest.fixture
def session(database: Database) -> str:
    database.write(lambda tx: [new_session(tx, "s"), new_session(tx, "other")])
    return "s"


def start(database: Database, session_id: str, *turn_ids: str) -> None:
    database.write(
        lambda tx: [
            turns.start(tx, session_id, each, source="client", permission="read") for each in turn_ids
        ]
    )


def test_begun_turn_has_no_ending(database: Database, session: str) -> None:
    start(database, session, "t1")

    assert database.read(lambda tx: turns.get(tx, session, "t1")) == TurnRow(
        "t1", "s", "client", START, "read"
    )


def test_turn_is_found_in_its_own_session_only(database: Database, session: str) -> None:
    start(database, session, "t1")

    assert database.read(lambda tx: turns.get(tx, "other", "t1")) is None
    assert database.read(lambda tx: turns.get(tx, session, "t2")) is None


def test_finished_turn_says_how_it_ended(database: Database, session: str, clock: SetClock) -> None:
    start(database, session, "t1")
    now = clock.advance(seconds=1)
    database.write(
        lambda tx: turns.finish(
            tx,
            session,
            "t1",
            status="failed",
            error_type="u",
            error_detail="a\x00",
            profile="spare",
            usage=USAGE,
        )
    )

    assert database.read(lambda tx: turns.get(tx, session, "t1")) == TurnRow(
        "t1", "s", "client", START, "read", now, "failed", None, "u", "a\ufffd", "spare", USAGE
    )  # fmt: skip


def test_ending_is_given_once(database: Database, session: str, clock: SetClock) -> None:
    start(database, session, "t1")
    assert database.write(
        lambda tx: turns.finish(tx, session, "t1", status="succeeded", stop_reason="end_turn")
    )
    first = database.read(lambda tx: turns.get(tx, session, "t1"))
    clock.advance(seconds=1)

    assert not database.write(lambda tx: turns.finish(tx, session, "t1", status="canceled", usage=USAGE))
    assert not database.write(lambda tx: turns.finish(tx, session, "nobody", status="canceled"))
    assert database.read(lambda tx: turns.get(tx, session, "t1")) == first


def test_update_changes_what_is_named_only(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    database.write(lambda tx: turns.update(tx, session, "t1", usage=USAGE))
    database.write(lambda tx: turns.update(tx, session, "t1", permission="workspace"))
    database.write(lambda tx: turns.update(tx, session, "t1"))

    changed = database.read(lambda tx: turns.get(tx, session, "t1"))
    assert changed == TurnRow("t1", "s", "client", START, "workspace", usage=USAGE)
    assert database.read(lambda tx: turns.get(tx, session, "t2")) == TurnRow(
        "t2", "s", "client", START, "read"
    )


def test_imported_turn_keeps_its_ending(database: Database, session: str) -> None:
    row = TurnRow("t1", "s", "inbox", START, "read", START + timedelta(seconds=5), "succeeded", "end_turn")
    database.write(lambda tx: turns.add(tx, row))

    assert database.read(lambda tx: turns.get(tx, session, "t1")) == row


def test_pages_go_from_the_newest_back_to_the_first(database: Database, session: str) -> None:
    start(database, session, *(f"t{number}" for number in range(5)))
    start(database, "other", "elsewhere")
    found: list[str] = []
    before: str | None = None
    while True:
        page, before = database.read(
            lambda tx, before=before: turns.list_page(tx, session, limit=2, before=before)
        )
        found += [each.id for each in page]
        if before is None:
            break

    assert found == ["t4", "t3", "t2", "t1", "t0"]


def test_page_before_a_turn_of_another_session_is_empty(database: Database, session: str) -> None:
    start(database, session, "t1")
    start(database, "other", "elsewhere")

    assert database.read(lambda tx: turns.list_page(tx, session, limit=5, before="elsewhere")) == ([], None)


def test_last_turns_are_by_session(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    database.write(lambda tx: new_session(tx, "silent"))
    start(database, "other", "t3")
    last = database.read(lambda tx: turns.last_of(tx, ["s", "other", "silent"]))

    assert {key: turn.id for key, turn in last.items()} == {"s": "t2", "other": "t3"}


def test_usage_is_summed_over_a_sessions_turns(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    start(database, "other", "t3")
    for session_id, turn_id in (("s", "t1"), ("s", "t2"), ("other", "t3")):
        database.write(lambda tx, at=(session_id, turn_id): turns.update(tx, *at, usage=USAGE))

    assert database.read(lambda tx: turns.usage_of(tx, session)) == TurnUsage(2, 4, 6, 8)
    assert database.read(lambda tx: turns.usage_of(tx, "nobody")) == TurnUsage()


def test_counter_beyond_all_sense_is_stored_as_the_limit(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    for turn_id in ("t1", "t2"):
        database.write(
            lambda tx, turn_id=turn_id: turns.update(tx, session, turn_id, usage=TurnUsage(10**30))
        )

    assert database.read(lambda tx: turns.usage_of(tx, session)).input_tokens == 2 * 2**53


def test_fork_has_the_same_turns_and_they_are_its_own(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    database.write(lambda tx: turns.finish(tx, session, "t1", status="succeeded", usage=USAGE))
    database.write(lambda tx: turns.copy(tx, session, "other"))
    database.write(lambda tx: turns.finish(tx, session, "t2", status="canceled"))

    copied, _ = database.read(lambda tx: turns.list_page(tx, "other", limit=5))
    assert [(each.id, each.status, each.session_id) for each in copied] == [
        ("t2", None, "other"), ("t1", "succeeded", "other"),
    ]  # fmt: skip


def test_id_is_given_once_in_a_session(database: Database, session: str) -> None:
    start(database, session, "t1")
    with pytest.raises(Exception, match="UNIQUE"):
        start(database, session, "t1")


def test_session_is_left_open_by_its_latest_turn_alone(database: Database, session: str) -> None:
    start(database, session, "t1", "t2")
    start(database, "other", "t3")
    database.write(lambda tx: turns.finish(tx, session, "t2", status="succeeded"))

    assert database.read(lambda tx: turns.left_open(tx, "client")) == ["other"]
    assert database.read(lambda tx: turns.left_open(tx, "inbox")) == []

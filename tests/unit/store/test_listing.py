"""The listing: its order, its cursors through ties, its filters, and that each part runs along an index."""

from datetime import timedelta

import pytest

from meka.store import listing, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.listing import Cursor, SessionFilter
from tests.unit.store.support import START, SetClock, new_session


def ids(database: Database, **where: object) -> list[str]:
    page, _ = database.read(lambda tx: listing.list_page(tx, limit=100, where=SessionFilter(**where)))
    return [session.id for session in page]


def walk(database: Database, limit: int, **where: object) -> list[str]:
    """Every session, a page at a time."""
    found: list[str] = []
    cursor: Cursor | None = None
    while True:
        page, cursor = database.read(
            lambda tx, cursor=cursor: listing.list_page(
                tx, limit=limit, cursor=cursor, where=SessionFilter(**where)
            )
        )
        found += [session.id for session in page]
        if cursor is None:
            return found
        assert len(page) == limit


def add_sessions(database: Database, *session_ids: str, **fields: object) -> None:
    database.write(lambda tx: [new_session(tx, each, **fields) for each in session_ids])


def test_latest_update_comes_first(database: Database, clock: SetClock) -> None:
    for name in ("a", "b", "c"):
        add_sessions(database, name)
        clock.advance(seconds=1)
    database.write(lambda tx: sessions.update(tx, "a", touch=True))

    assert ids(database) == ["a", "c", "b"]


def test_pinned_come_first_and_the_newest_pin_on_top(database: Database, clock: SetClock) -> None:
    add_sessions(database, "old", "older-pin", "newer-pin")
    for name in ("older-pin", "newer-pin"):
        database.write(
            lambda tx, name=name: sessions.update(tx, name, touch=False, pinned_at=clock.advance(seconds=1))
        )
    clock.advance(seconds=1)
    add_sessions(database, "new")

    assert ids(database) == ["newer-pin", "older-pin", "new", "old"]
    assert ids(database, pinned=True) == ["newer-pin", "older-pin"]
    assert ids(database, pinned=False) == ["new", "old"]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 100])
def test_pages_hold_each_session_once_in_order_when_moments_are_equal(
    database: Database, clock: SetClock, limit: int
) -> None:
    for second in range(3):
        add_sessions(database, *(f"{second}-{number}" for number in range(6)))
        clock.advance(seconds=1)
    for name in ("0-0", "1-1", "2-2"):
        database.write(lambda tx, name=name: sessions.update(tx, name, touch=False, pinned_at=START))

    walked = walk(database, limit)

    assert walked[:3] == ["2-2", "1-1", "0-0"]
    assert walked == ids(database)
    assert len(set(walked)) == len(walked) == 18


def test_last_full_page_has_no_cursor(database: Database) -> None:
    add_sessions(database, "a", "b")
    _, cursor = database.read(lambda tx: listing.list_page(tx, limit=2))

    assert cursor is None


def test_page_that_ends_between_the_parts_goes_on_with_the_other(database: Database) -> None:
    add_sessions(database, "pinned", "plain")
    database.write(lambda tx: sessions.update(tx, "pinned", touch=False, pinned_at=START))
    page, cursor = database.read(lambda tx: listing.list_page(tx, limit=1))

    assert [each.id for each in page] == ["pinned"]
    assert cursor == Cursor(True, cursor.moment_micros, "pinned")
    assert walk(database, 1) == ["pinned", "plain"]


def test_title_and_pin_leave_the_place_among_the_rest(database: Database, clock: SetClock) -> None:
    add_sessions(database, "a")
    clock.advance(seconds=1)
    add_sessions(database, "b")
    database.write(lambda tx: sessions.update(tx, "a", touch=False, title="named"))

    assert ids(database) == ["b", "a"]


def test_filters_narrow(database: Database) -> None:
    add_sessions(database, "root")
    add_sessions(database, "child", parent_id="root", working_directory="/elsewhere")
    add_sessions(database, "other", profile="cheap", project="apollo")

    assert set(ids(database)) == {"root", "other"}
    assert set(ids(database, include_children=True)) == {"root", "child", "other"}
    assert ids(database, parent="root") == ["child"]
    assert ids(database, parent="nobody") == []
    assert ids(database, working_directory="/elsewhere") == []
    assert ids(database, working_directory="/elsewhere", include_children=True) == ["child"]
    assert ids(database, profile="cheap") == ["other"]
    assert ids(database, project="apollo") == ["other"]
    assert ids(database, project="") == ["root"]
    assert ids(database, profile="cheap", project="") == []


def test_updated_since_is_strictly_after_to_the_microsecond(database: Database, clock: SetClock) -> None:
    add_sessions(database, "a")
    clock.advance(microseconds=1)
    add_sessions(database, "b")

    assert ids(database, updated_since=START - timedelta(microseconds=1)) == ["b", "a"]
    assert ids(database, updated_since=START) == ["b"]
    assert ids(database, updated_since=START + timedelta(microseconds=1)) == []


def test_text_that_no_column_can_hold_finds_nothing(database: Database) -> None:
    add_sessions(database, "a")

    assert ids(database, working_directory="/\ud800", profile="\x00") == []


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"include_children": True},
        {"parent": "x"},
        {"working_directory": "x"},
        {"profile": "x"},
        {"project": "x"},
        {"updated_since": START},
        {"working_directory": "x", "profile": "x", "project": "x", "updated_since": START},
    ],
)
@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("after", [None, (1, "a")])
def test_each_part_of_a_page_is_read_along_an_index(
    database: Database, where: dict[str, object], pinned: bool, after: tuple[int, str] | None
) -> None:
    cursor = None if after is None else Cursor(pinned, *after)
    sql, parameters = listing.part_query(SessionFilter(**where), pinned, cursor).limit(51).sql()

    def plan(tx: Tx) -> list[str]:
        return [row[3] for row in tx.sql(f"EXPLAIN QUERY PLAN {sql}", parameters)]

    steps = database.read(plan)
    assert len(steps) == 1  # a second one would be a sort
    assert "USING INDEX sessions_" in steps[0]
    assert not pinned or "sessions_pinned" in steps[0]

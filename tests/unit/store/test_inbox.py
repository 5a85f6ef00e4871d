"""The inbox's rows: what is still to be shown is found without a look at all that ever was."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from meka.store import inbox
from meka.store.connection import Connection, Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState
from tests.fakes import FakeClock
from tests.unit.store.support import new_session

SESSION = "00000000-0000-4000-8000-000000000001"


class Explaining:
    """A transaction that also keeps SQLite's plan of each query."""

    def __init__(self, connection: Connection, tx: Tx) -> None:
        self._connection = connection
        self._tx = tx
        self.plans: list[str] = []

    def rows(self, query: Any) -> Any:
        self._explain(*query.sql())
        return self._tx.rows(query)

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> Any:
        self._explain(text, parameters)
        return self._tx.sql(text, parameters)

    def _explain(self, text: str, parameters: Sequence[Any]) -> None:
        self.plans += [row[-1] for row in self._connection.sql(f"EXPLAIN QUERY PLAN {text}", parameters)]


@pytest.mark.parametrize("query", [inbox.open_items, inbox.pending, inbox.has_pending])
def test_open_items_are_found_by_their_index(tmp_path: Path, query: Callable[[Any, str], Any]) -> None:
    clock = FakeClock()
    with Database.open(tmp_path / "meka.db", clock=clock) as database:
        database.write(lambda tx: new_session(tx, SESSION))
    connection = Connection(tmp_path / "meka.db", wait_seconds=1.0)
    tx = Explaining(connection, Tx(connection, clock))
    query(tx, SESSION)
    connection.close()
    (plan,) = tx.plans
    assert "USING INDEX inbox_open (session_id=?)" in plan


def test_only_items_that_wait_are_pending(tmp_path: Path) -> None:
    clock = FakeClock()
    with Database.open(tmp_path / "meka.db", clock=clock) as database:
        database.write(lambda tx: new_session(tx, SESSION))
        now = clock.now()
        for item_id in ("first", "second"):
            row = InboxRow(item_id, SESSION, "steer", "hi", ItemState.PENDING, now, now + timedelta(hours=1))
            database.write(lambda tx, row=row: inbox.add(tx, row))
        database.write(lambda tx: inbox.mark_appended(tx, ["first"], 1))
        assert database.read(lambda tx: [item.id for item in inbox.pending(tx, SESSION)]) == ["second"]
        assert database.read(lambda tx: inbox.has_pending(tx, SESSION))
        database.write(lambda tx: inbox.mark_appended(tx, ["second"], 2))
        assert not database.read(lambda tx: inbox.has_pending(tx, SESSION))
        assert database.read(lambda tx: len(inbox.open_items(tx, SESSION))) == 2

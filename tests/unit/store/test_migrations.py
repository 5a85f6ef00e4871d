"""Migrations: forward only, with a copy beside the store before one runs, and never on a newer store."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from meka.base.errors import StoreUnavailableError
from meka.store import sessions
from meka.store.database import Database
from meka.store.failures import StoreFromTheFutureError, StoreOpenError
from meka.store.locks import FileLock
from meka.store.migrations import MIGRATIONS, Migration
from tests.unit.store.support import SetClock, new_session

NEWEST = MIGRATIONS[-1].number
NEXT = Migration(
    NEWEST + 1, "a table of notes", ("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('x')")
)
BROKEN = Migration(
    NEWEST + 1, "one that fails", ("CREATE TABLE notes (text TEXT)", "INSERT INTO nowhere VALUES (1)")
)


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def make_store(path: Path, clock: SetClock) -> None:
    with Database.open(path, clock=clock) as database:
        database.write(lambda tx: new_session(tx, "old"))


def backup_of(path: Path) -> Path:
    return path.with_name(f"meka.db.v{NEWEST}.bak")


def test_migrations_are_numbered_without_gaps() -> None:
    assert [each.number for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_new_store_stands_at_the_newest_schema_without_a_backup(database: Database, path: Path) -> None:
    assert database.read(lambda tx: tx.sql("PRAGMA user_version")) == [(NEWEST,)]
    assert list(path.parent.glob("*.bak*")) == []


def test_opening_a_current_store_again_changes_nothing(path: Path, clock: SetClock) -> None:
    make_store(path, clock)
    Database.open(path, clock=clock).close()

    assert list(path.parent.glob("*.bak*")) == []


def test_migration_runs_on_a_store_that_holds_something_after_a_backup(path: Path, clock: SetClock) -> None:
    make_store(path, clock)
    with Database.open(path, clock=clock, migrations=(*MIGRATIONS, NEXT)) as database:
        assert database.read(lambda tx: tx.sql("SELECT text FROM notes")) == [("x",)]
        assert database.read(sessions.all_ids) == {"old"}

    assert query(path, "PRAGMA user_version") == [(NEXT.number,)]
    assert query(backup_of(path), "PRAGMA user_version") == [(NEWEST,)]
    assert query(backup_of(path), "SELECT id FROM sessions") == [("old",)]
    assert query(backup_of(path), "PRAGMA integrity_check") == [("ok",)]
    assert stat.S_IMODE(backup_of(path).stat().st_mode) == 0o600
    assert list(path.parent.glob("*.partial*")) == []


def test_backup_holds_what_is_still_in_the_wal(path: Path, clock: SetClock) -> None:
    with Database.open(path, clock=clock) as writer:
        writer.write(lambda tx: new_session(tx, "fresh"))
        Database.open(path, clock=clock, migrations=(*MIGRATIONS, NEXT)).close()

    assert query(backup_of(path), "SELECT id FROM sessions") == [("fresh",)]


def test_backup_replaces_an_older_one_of_the_same_schema(path: Path, clock: SetClock) -> None:
    make_store(path, clock)
    backup_of(path).write_text("an older one")
    Database.open(path, clock=clock, migrations=(*MIGRATIONS, NEXT)).close()

    assert query(backup_of(path), "SELECT id FROM sessions") == [("old",)]


def test_failed_migration_leaves_the_store_as_it_was(path: Path, clock: SetClock) -> None:
    make_store(path, clock)
    with pytest.raises(StoreOpenError, match="nowhere"):
        Database.open(path, clock=clock, migrations=(*MIGRATIONS, BROKEN))

    assert query(path, "PRAGMA user_version") == [(NEWEST,)]
    assert query(path, "SELECT name FROM sqlite_master WHERE name = 'notes'") == []
    with Database.open(path, clock=clock) as database:
        assert database.read(sessions.all_ids) == {"old"}


def test_store_from_the_future_is_refused_and_left_alone(path: Path, clock: SetClock) -> None:
    make_store(path, clock)
    Database.open(path, clock=clock, migrations=(*MIGRATIONS, NEXT)).close()
    with pytest.raises(StoreFromTheFutureError) as refused:
        Database.open(path, clock=clock)

    assert str(path) in str(refused.value)
    assert f"its schema is {NEXT.number}, this one knows up to {NEWEST}" in str(refused.value)
    assert query(path, "PRAGMA user_version") == [(NEXT.number,)]


def test_file_that_is_no_store_is_refused_in_a_sentence(path: Path, clock: SetClock) -> None:
    path.parent.mkdir()
    path.write_text("a letter to nobody in particular " * 100)
    with pytest.raises(StoreOpenError, match="not a database"):
        Database.open(path, clock=clock)


def test_opening_waits_for_the_schema_lock_in_bounded_time(path: Path, clock: SetClock) -> None:
    lock = (
        FileLock.try_acquire(path.parent / "locks" / "schema.lock")
        if make_store(path, clock) is None
        else None
    )
    assert lock is not None
    with pytest.raises(StoreUnavailableError):
        Database.open(path, clock=clock, wait_seconds=0.1)
    lock.release()

    Database.open(path, clock=clock, wait_seconds=0.1).close()

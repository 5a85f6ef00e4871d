"""Secrets of accounts: stored, renamed, refreshed by compare-and-set, never shown."""

from meka.store import credentials
from meka.store.credentials import Credential, CredentialKind
from meka.store.database import Database
from tests.unit.store.support import START, SetClock

SECRET = {"key": "sk-very-secret"}


def put(database: Database, account: str = "main", secret: dict[str, str] = SECRET) -> Credential:
    return database.write(lambda tx: credentials.put(tx, account, CredentialKind.API_KEY, secret))


def get(database: Database, account: str = "main") -> Credential | None:
    return database.read(lambda tx: credentials.get(tx, account))


def test_secret_comes_back(database: Database) -> None:
    stored = put(database)

    assert stored == get(database) == Credential("main", CredentialKind.API_KEY, SECRET, START)
    assert get(database, "nobody") is None


def test_secret_is_in_no_repr(database: Database) -> None:
    assert "sk-very-secret" not in repr(put(database))


def test_put_replaces_secret_and_kind(database: Database) -> None:
    put(database)
    database.write(lambda tx: credentials.put(tx, "main", CredentialKind.OAUTH, {"access": "x"}))

    stored = get(database)
    assert stored is not None
    assert (stored.kind, stored.secret) == (CredentialKind.OAUTH, {"access": "x"})


def test_refresh_is_stored_over_the_secret_it_began_with(database: Database, clock: SetClock) -> None:
    seen = put(database)
    clock.advance(seconds=1)
    refreshed = database.write(lambda tx: credentials.put_if_unchanged(tx, seen, {"key": "new"}))

    assert refreshed == get(database)
    assert refreshed is not None
    assert refreshed.secret == {"key": "new"}


def test_refresh_is_dropped_when_another_write_came_first(database: Database) -> None:
    seen = put(database)
    database.write(lambda tx: credentials.delete(tx, "main"))
    assert database.write(lambda tx: credentials.put_if_unchanged(tx, seen, {"key": "late"})) is None

    latest = put(database, secret={"key": "other"})
    assert database.write(lambda tx: credentials.put_if_unchanged(tx, seen, {"key": "late"})) is None
    assert get(database) == latest


def test_deleted_secret_is_gone(database: Database) -> None:
    put(database)

    assert database.write(lambda tx: credentials.delete(tx, "main")) is True
    assert database.write(lambda tx: credentials.delete(tx, "main")) is False
    assert get(database) is None


def test_rename_never_overwrites_another_secret(database: Database) -> None:
    put(database, "one")
    put(database, "two", {"key": "2"})

    assert database.write(lambda tx: credentials.rename(tx, "one", "two")) is False
    assert database.write(lambda tx: credentials.rename(tx, "nobody", "three")) is False
    assert database.write(lambda tx: credentials.rename(tx, "one", "three")) is True
    assert database.read(credentials.list_names) == ["three", "two"]

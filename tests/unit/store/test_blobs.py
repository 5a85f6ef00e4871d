"""Blobs: bytes once, a reference a session."""

import hashlib

import pytest

from meka.store import blobs, sessions
from meka.store.blobs import Blob
from meka.store.database import Database
from tests.unit.store.support import new_session

DATA = b"\x89PNG\x00\xff"
HASH = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def two_sessions(database: Database) -> None:
    database.write(lambda tx: [new_session(tx, "a"), new_session(tx, "b")])


def test_bytes_are_kept_under_their_hash(database: Database) -> None:
    assert database.write(lambda tx: blobs.put(tx, "a", "image/png", DATA)) == HASH
    assert database.read(lambda tx: blobs.get(tx, HASH)) == Blob(HASH, "image/png", DATA)
    assert database.read(lambda tx: blobs.get(tx, "0" * 64)) is None


def test_bytes_are_stored_once_however_often_they_are_put(database: Database) -> None:
    for session_id in ("a", "a", "b"):
        database.write(lambda tx, session_id=session_id: blobs.put(tx, session_id, "image/png", DATA))

    assert database.read(lambda tx: tx.sql("SELECT count(*) FROM blobs")) == [(1,)]
    assert database.read(lambda tx: (blobs.hashes(tx, "a"), blobs.hashes(tx, "b"))) == ({HASH}, {HASH})


def test_bytes_are_given_to_a_session_that_holds_them_only(database: Database) -> None:
    database.write(lambda tx: blobs.put(tx, "a", "image/png", DATA))

    assert database.read(lambda tx: blobs.get_for_session(tx, "a", HASH)) == Blob(HASH, "image/png", DATA)
    assert database.read(lambda tx: blobs.get_for_session(tx, "b", HASH)) is None
    database.write(lambda tx: blobs.reference(tx, "b", HASH))
    assert database.read(lambda tx: blobs.get_for_session(tx, "b", HASH)) == Blob(HASH, "image/png", DATA)


def test_bytes_go_with_the_last_session_that_holds_them(database: Database) -> None:
    for session_id in ("a", "b"):
        database.write(lambda tx, session_id=session_id: blobs.put(tx, session_id, "image/png", DATA))

    database.write(lambda tx: sessions.delete_tree(tx, "a"))
    assert database.read(lambda tx: blobs.get(tx, HASH)) is not None
    database.write(lambda tx: sessions.delete_tree(tx, "b"))
    assert database.read(lambda tx: blobs.get(tx, HASH)) is None


def test_hash_that_no_column_can_hold_finds_nothing(database: Database) -> None:
    assert database.read(lambda tx: blobs.get_for_session(tx, "a", "\ud800\x00")) is None


def test_repr_of_a_blob_is_without_its_bytes(database: Database) -> None:
    assert "PNG" not in repr(Blob(HASH, "image/png", DATA))


def test_fork_holds_the_same_bytes(database: Database) -> None:
    database.write(lambda tx: blobs.put(tx, "a", "image/png", DATA))
    database.write(lambda tx: blobs.copy(tx, "a", "b"))

    assert database.read(lambda tx: blobs.hashes(tx, "b")) == {HASH}

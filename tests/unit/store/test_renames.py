"""Names that profiles had, and where they lead."""

from meka.store import renames
from meka.store.database import Database


def later(database: Database, name: str, *known: str) -> str | None:
    return database.read(lambda tx: renames.later_name(tx, name, known))


def earlier(database: Database, name: str, *known: str) -> str | None:
    return database.read(lambda tx: renames.earlier_name(tx, name, known))


def test_name_leads_to_the_last_one_that_is_known(database: Database) -> None:
    database.write(lambda tx: [renames.note(tx, "a", "b"), renames.note(tx, "b", "c")])
    assert later(database, "a", "c") == "c"
    assert later(database, "a", "b", "c") == "b"
    assert later(database, "a", "a", "c") == "a"
    assert later(database, "c", "x") is None
    assert earlier(database, "c", "a") == "a"
    assert earlier(database, "c", "a", "b") == "b"
    assert earlier(database, "a", "c") is None


def test_name_that_comes_back_leads_nowhere(database: Database) -> None:
    database.write(lambda tx: [renames.note(tx, "a", "b"), renames.note(tx, "b", "a")])
    assert later(database, "a", "b") is None
    assert later(database, "b", "a") == "a"


def test_swapped_names_lead_to_the_profile_that_was_meant(database: Database) -> None:
    for old, new in (("a", "t"), ("b", "a"), ("t", "b")):
        database.write(lambda tx, old=old, new=new: renames.note(tx, old, new))
    assert later(database, "t", "a", "b") == "b"


def test_name_of_a_profile_that_was_added_is_its_own(database: Database) -> None:
    database.write(lambda tx: renames.note(tx, "a", "b"))
    database.write(lambda tx: renames.begin_anew(tx, "b"))
    assert later(database, "a", "b") is None
    database.write(lambda tx: renames.note(tx, "a", "b"))
    database.write(lambda tx: renames.begin_anew(tx, "a"))
    assert later(database, "a", "b") is None


def test_rename_that_did_not_happen_is_forgotten(database: Database) -> None:
    database.write(lambda tx: renames.note(tx, "a", "b"))
    database.write(lambda tx: renames.forget(tx, "a"))
    assert later(database, "a", "b") is None


def test_circle_in_an_edited_store_ends(database: Database) -> None:
    database.write(lambda tx: tx.sql("INSERT INTO profile_renames VALUES ('a', 'b'), ('b', 'a')"))
    assert later(database, "a", "c") is None
    assert earlier(database, "a", "c") is None

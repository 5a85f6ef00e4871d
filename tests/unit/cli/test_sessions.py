"""`meka session`: ids by their start, records as rows hold them, deletions that respect a holder."""

import json
from datetime import timedelta

import pytest

from meka.store import sessions
from meka.store.locks import SessionLocks
from tests.unit.cli.conftest import Shell

FIRST = "11111111-1111-4111-8111-111111111111"
SECOND = "11112222-2222-4222-8222-222222222222"
CHILD = "33333333-3333-4333-8333-333333333333"


@pytest.fixture
def shell(meka: Shell) -> Shell:
    with meka.store() as database:
        for session_id, parent in ((FIRST, None), (SECOND, None), (CHILD, FIRST)):
            database.write(
                lambda tx, session_id=session_id, parent=parent: sessions.create(  # type: ignore[misc]
                    tx, session_id, working_directory="/w", permission="read", approvals=False, profile="p",
                    parent_id=parent, title=f"about {session_id[:4]}",
                )
            )  # fmt: skip
            meka.program.clock.advance(60)
    return meka


def remaining(shell: Shell) -> set[str]:
    with shell.store() as database:
        return database.read(sessions.all_ids)


def test_sessions_are_listed_latest_first(shell: Shell) -> None:
    listed = json.loads(shell.done("session", "list", "--format", "json"))
    assert [record["id"] for record in listed["sessions"]] == [SECOND, FIRST]
    listed = json.loads(shell.done("session", "list", "--include-children", "-n", "1", "--format", "json"))
    assert [record["id"] for record in listed["sessions"]] == [CHILD]
    assert "about 1111" in shell.done("session", "list")


def test_session_is_shown_by_the_start_of_its_id(shell: Shell) -> None:
    record = json.loads(shell.done("session", "show", "3333", "--format", "json"))
    assert record["id"] == CHILD
    assert record["parent_id"] == FIRST
    assert "turn_in_flight" not in record
    assert FIRST in shell.done("session", "show", FIRST.upper())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("1111", "several sessions begin with '1111'; give more of the id"),
        ("9", "session '9' not found"),
        ("%", "session '%' not found"),
        ("_", "session '_' not found"),
    ],
)
def test_id_that_names_no_single_session_is_refused(shell: Shell, given: str, sentence: str) -> None:
    outcome = shell("session", "show", given)
    assert (outcome.code, outcome.err) == (1, f"error: {sentence}\n")


def test_named_sessions_are_deleted_with_those_below(shell: Shell) -> None:
    shell.done("session", "delete", "11111")
    assert remaining(shell) == {SECOND}


def test_deletion_that_leaves_a_named_session_fails(shell: Shell) -> None:
    outcome = shell("session", "delete", "999", SECOND)
    assert outcome.code == 1
    assert "session '999' not found" in outcome.err
    assert remaining(shell) == {FIRST, CHILD}


def test_session_that_is_open_elsewhere_stays(shell: Shell) -> None:
    lock = SessionLocks(shell.directory / "data" / "locks").try_acquire(CHILD)
    assert lock is not None
    outcome = shell("session", "delete", FIRST)
    assert outcome.code == 1
    assert "is open in another process" in outcome.err
    lock.release()
    shell.done("session", "delete", FIRST)
    assert remaining(shell) == {SECOND}


def test_old_sessions_are_deleted_and_pinned_ones_spared(shell: Shell) -> None:
    with shell.store() as database:
        moment = shell.program.clock.now() - timedelta(days=1)
        database.write(lambda tx: sessions.update(tx, SECOND, touch=False, pinned_at=moment))
    # The fake store's moments lie in the past of the machine's clock, by which the age is reckoned.
    shell.done("session", "delete", "--older-than-days", "0")
    assert remaining(shell) == {SECOND}


def test_every_session_is_deleted(shell: Shell) -> None:
    shell.done("session", "delete", "--all")
    assert remaining(shell) == set()


@pytest.mark.parametrize("arguments", [[], ["--all", "x"], ["--all", "--older-than-days", "3"], ["-n"]])
def test_forms_of_deletion_exclude_each_other(shell: Shell, arguments: list[str]) -> None:
    assert shell("session", "delete", *arguments).code == 2
    assert len(remaining(shell)) == 3

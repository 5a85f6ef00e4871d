"""Session locks: one holder among all processes, gone with it, and files that go with their sessions."""

import signal
from pathlib import Path

import pytest

from meka.base.errors import StoreUnavailableError
from meka.store.locks import SessionLocks
from tests.unit.store.support import start_child

WAIT = 30

HOLDER = """
import sys
from pathlib import Path
from meka.store.locks import SessionLocks

lock = SessionLocks(Path(sys.argv[1])).try_acquire(sys.argv[2])
print("held" if lock else "refused", flush=True)
sys.stdin.readline()
if lock:
    lock.release()
print("released", flush=True)
sys.stdin.readline()
"""

# Whoever is inside makes a file that must not be there yet.
CONTENDER = """
import os, sys
from pathlib import Path
from meka.store.locks import FileLock

directory = Path(sys.argv[1])
taken = 0
while taken < 2000:
    lock = FileLock.try_acquire(directory / "a.lock")
    if lock is not None:
        os.close(os.open(directory / "inside", os.O_CREAT | os.O_EXCL))
        os.unlink(directory / "inside")
        lock.discard()
        taken += 1
print(taken)
"""


@pytest.fixture
def locks(tmp_path: Path) -> SessionLocks:
    return SessionLocks(tmp_path / "locks")


def files(tmp_path: Path) -> set[str]:
    return {each.name for each in (tmp_path / "locks").iterdir()}


def test_lock_has_one_holder_until_it_is_released(locks: SessionLocks) -> None:
    held = locks.try_acquire("a")
    assert held is not None
    assert locks.try_acquire("a") is None
    assert locks.try_acquire("b") is not None

    held.release()
    held.release()
    assert locks.try_acquire("a") is not None


def test_lock_holds_across_processes_until_released(locks: SessionLocks, tmp_path: Path) -> None:
    child = start_child(HOLDER, str(tmp_path / "locks"), "a")
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    assert locks.try_acquire("a") is None

    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "released\n"
    assert locks.try_acquire("a") is not None
    child.communicate(timeout=WAIT)


def test_lock_is_refused_to_another_process_while_held_here(locks: SessionLocks, tmp_path: Path) -> None:
    held = locks.try_acquire("a")
    child = start_child(HOLDER, str(tmp_path / "locks"), "a")
    output, errors = child.communicate("\n\n", timeout=WAIT)

    assert held is not None
    assert (output.split()[0], errors) == ("refused", "")


def test_lock_ends_with_a_process_that_is_killed(locks: SessionLocks, tmp_path: Path) -> None:
    child = start_child(HOLDER, str(tmp_path / "locks"), "a")
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=WAIT)

    assert locks.try_acquire("a") is not None


def test_discard_removes_the_file_and_a_new_lock_can_be_taken(locks: SessionLocks, tmp_path: Path) -> None:
    held = locks.try_acquire("a")
    assert held is not None
    held.discard()
    assert files(tmp_path) == set()

    again = locks.try_acquire("a")
    assert again is not None
    assert locks.try_acquire("a") is None
    held.discard()
    assert files(tmp_path) == {"a.lock"}


def test_lock_stays_exclusive_while_files_come_and_go(tmp_path: Path) -> None:
    children = [start_child(CONTENDER, str(tmp_path)) for _ in range(2)]
    outcomes = [child.communicate(timeout=WAIT) for child in children]

    assert outcomes == [("2000\n", "")] * 2


def test_whole_tree_is_locked_or_none_of_it(locks: SessionLocks) -> None:
    middle = locks.try_acquire("b")
    assert middle is not None
    assert locks.try_acquire_all(["a", "b", "c"]) is None
    assert locks.try_acquire("a") is not None

    middle.release()
    held = locks.try_acquire_all(["b", "c"])
    assert held is not None
    assert set(held) == {"b", "c"}
    assert locks.try_acquire("c") is None


def test_sweep_removes_files_of_sessions_that_are_gone_and_not_held(
    locks: SessionLocks, tmp_path: Path
) -> None:
    for name in ("kept", "gone"):
        lock = locks.try_acquire(name)
        assert lock is not None
        lock.release()
    held = locks.try_acquire("being-made")
    (tmp_path / "locks" / "schema.lock").touch()

    assert locks.sweep({"kept"}) == 1
    assert files(tmp_path) == {"kept.lock", "being-made.lock", "schema.lock"}
    assert held is not None


def test_id_that_would_leave_the_directory_is_refused(locks: SessionLocks) -> None:
    with pytest.raises(ValueError, match="no session id"):
        locks.try_acquire("../elsewhere")


def test_lock_that_cannot_be_written_is_an_unavailable_store(tmp_path: Path) -> None:
    (tmp_path / "locks").touch()
    with pytest.raises(StoreUnavailableError):
        SessionLocks(tmp_path / "locks").try_acquire("a")

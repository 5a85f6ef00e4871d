"""Advisory locks between processes: one file a session, and one for changes of the schema.

A lock is `flock` on a file of its own: it ends with `release`, or with the process however that dies. Taking
one never blocks, so the hub's thread may do it.
"""

import fcntl
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Self

import gevent

from meka.base.errors import StoreUnavailableError

_SUFFIX = ".lock"
_ID = re.compile(r"[0-9A-Za-z-]+")
_RETRY_SECONDS = 0.02


class FileLock:
    """A lock that is held, until `release` or `discard`."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def try_acquire(cls, path: Path) -> Self | None:
        """The lock on `path`, or None while another holder has it. Raises: `StoreUnavailableError`."""
        while True:
            descriptor = _open_locked(path)
            if descriptor is None:
                return None
            # The one who held it may have removed the file between our opening and our locking it: then
            # ours is a lock on nothing, and the next one would get a file of its own.
            if _is_file_at(descriptor, path):
                return cls(path, descriptor)
            os.close(descriptor)

    def release(self) -> None:
        """Let go; once is enough, more does nothing."""
        if self._descriptor is None:
            return
        # Said outright, since a child that is being forked just now still shares the descriptor.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)
        self._descriptor = None

    def discard(self) -> None:
        """Remove the file while it is still locked, then let go: for what will never be locked again."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
        self.release()


class SessionLock(FileLock):
    """One session, held by this process; `discard` it when the session is deleted."""

    __slots__ = ()


class SessionLocks:
    """The sessions' locks of a data directory (`<data dir>/locks`)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def try_acquire(self, session_id: str) -> SessionLock | None:
        """The session's lock, or None while it is held, by this process or another."""
        return SessionLock.try_acquire(self._path_of(session_id))

    def try_acquire_all(self, session_ids: Iterable[str]) -> dict[str, SessionLock] | None:
        """All of them or none, for a change to a whole tree. Shape: locks by session id."""
        held: dict[str, SessionLock] = {}
        for session_id in session_ids:
            lock = self.try_acquire(session_id)
            if lock is None:
                for taken in held.values():
                    taken.release()
                return None
            held[session_id] = lock
        return held

    def sweep(self, session_ids: Collection[str]) -> int:
        """Remove files of sessions that are not among `session_ids` and that nobody holds; how many went."""
        removed = 0
        for path in self._directory.glob("*" + _SUFFIX):
            if path.stem in session_ids or not _ID.fullmatch(path.stem) or path.name == SchemaLock.FILE:
                continue
            lock = SessionLock.try_acquire(path)
            if lock is not None:
                lock.discard()
                removed += 1
        return removed

    def _path_of(self, session_id: str) -> Path:
        if not _ID.fullmatch(session_id):
            raise ValueError(f"{session_id!r} is no session id")
        return self._directory / (session_id + _SUFFIX)


class SchemaLock:
    """Held while a process looks at the schema and changes it; waited for, letting other greenlets run."""

    FILE = "schema.lock"

    def __init__(self, directory: Path, *, wait_seconds: float) -> None:
        self._path = directory / self.FILE
        self._wait_seconds = wait_seconds
        self._lock: FileLock | None = None

    def __enter__(self) -> Self:
        lock = FileLock.try_acquire(self._path)
        waits = int(self._wait_seconds / _RETRY_SECONDS)
        while lock is None and waits > 0:
            gevent.sleep(_RETRY_SECONDS)
            waits -= 1
            lock = FileLock.try_acquire(self._path)
        if lock is None:
            raise StoreUnavailableError
        self._lock = lock
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()


def _open_locked(path: Path) -> int | None:
    """A locked descriptor of the file, or None while it is held."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailableError from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise StoreUnavailableError from error
    return descriptor


def _is_file_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

"""The read rule, and opening what was checked: by descriptors, never through a symbolic link.

Imports nothing but the standard library, and little of that: the search worker runs it in a bare interpreter.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_OPEN_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NotRegularError(OSError):
    """A pipe, a device or a socket stands where a file was asked for."""


class ReadRule:
    """What may be read: all but processes and the private directories, and of those the readable parts.

    Every path here is canonical.
    """

    __slots__ = ("_private", "_readable", "_unrestricted")

    def __init__(self, private: Sequence[str], readable: Sequence[str], unrestricted: bool) -> None:
        self._private = tuple(private)
        self._readable = tuple(readable)
        self._unrestricted = unrestricted

    def may_read(self, path: str) -> bool:
        """Whether the file or directory may be read."""
        if self._unrestricted:
            return True
        if names_process(path):
            return False
        return not self.is_private(path) or any(is_within(path, each) for each in self._readable)

    def is_private(self, path: str) -> bool:
        """Whether a path lies in a private directory, the readable parts included."""
        return any(is_within(path, each) for each in self._private)


def names_process(path: str) -> bool:
    """Whether a path leads into the process entries of /proc."""
    parts = path.split("/", 3)
    if len(parts) < 3 or parts[1] != "proc":
        return False
    return parts[2].isdigit() or parts[2] in ("self", "thread-self")


def is_within(path: str, directory: str) -> bool:
    """Whether a path is the directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


@contextmanager
def open_parent(canonical: str, *, create: bool = False) -> Iterator[int]:
    """The descriptor of a canonical path's directory, reached without following any symbolic link.

    Shape: an O_PATH descriptor, good as `dir_fd`; `create` makes directories that are missing.
    Raises: OSError; ELOOP or ENOTDIR when a symbolic link was put in the way since the path was resolved.
    """
    descriptor = os.open("/", _OPEN_DIRECTORY)
    try:
        for part in canonical.split("/")[1:-1]:
            if create:
                _make_directory(part, descriptor)
            inner = os.open(part, _OPEN_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def open_regular(canonical: str) -> int:
    """A descriptor of the regular file at a canonical path. Raises: NotRegularError, OSError."""
    with open_parent(canonical) as parent:
        return open_regular_at(os.path.basename(canonical) or ".", parent)


def open_regular_at(name: str, directory: int) -> int:
    """A descriptor of a regular file inside an opened directory; never waits, follows no link."""
    check_regular(os.stat(name, dir_fd=directory, follow_symlinks=False))
    descriptor = os.open(name, _OPEN_TO_READ, dir_fd=directory)
    try:
        check_regular(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def stat_regular_at(name: str, directory: int) -> os.stat_result | None:
    """The status of a regular file inside an opened directory, or None. Raises: NotRegularError, OSError."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_regular(status)
    return status


def check_regular(status: os.stat_result) -> None:
    """Raises: IsADirectoryError, OSError with ELOOP for a symbolic link, NotRegularError for the rest."""
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    raise NotRegularError("is a pipe, a device or a socket, not a regular file")


def _make_directory(name: str, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return

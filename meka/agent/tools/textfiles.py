"""Text files as the tools see them: read whole or in a window, written at one stroke.

Everything here waits for the disk: it runs in a native thread.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from meka.agent.tools.base import FileState, ToolError
from meka.agent.tools.confined import open_parent, open_regular, stat_regular_at
from meka.agent.tools.paths import failure, shown

MAX_WHOLE_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's whole text (line endings as stored), its state and its mode."""

    text: str
    state: FileState
    mode: int


@dataclass(frozen=True, slots=True)
class Window:
    """Lines `start` to `end` (from 1, inclusive; `end` at most `total`) of `total`, joined by LF."""

    text: str
    start: int
    end: int
    total: int


def state_of(status: os.stat_result) -> FileState:
    """What tells a file from the same file changed."""
    return FileState(status.st_mtime_ns, status.st_size)


def read_bytes(path: Path, limit_bytes: int) -> tuple[bytes, os.stat_result]:
    """The bytes of the regular file at a canonical path. Raises: ToolError above the limit; OSError."""
    with _opened(path) as descriptor:
        status = os.fstat(descriptor)
        data = b"".join(_chunks(descriptor, limit_bytes + 1)) if status.st_size <= limit_bytes else b""
    size = max(status.st_size, len(data))
    if size > limit_bytes:
        raise ToolError(
            f"{shown(path)} holds {size:,} bytes, more than the {limit_bytes:,} that are read whole; "
            "read a window of it with start and end"
        )
    return data, status


def read_text(path: Path) -> TextFile:
    """The whole text of a file of at most `MAX_WHOLE_BYTES`. Raises: ToolError, OSError."""
    data, status = read_bytes(path, MAX_WHOLE_BYTES)
    return TextFile(decode(data, path), state_of(status), stat.S_IMODE(status.st_mode))


def decode(data: bytes, path: Path) -> str:
    """`data` as UTF-8. Raises: ToolError naming the path."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown(path)} is not UTF-8 text") from error


def stream_window(path: Path, start: int, end: int, is_stopped: Callable[[], bool]) -> Window:
    """A window of a file of any size. Raises: as `window_of`; OSError."""
    with _opened(path) as descriptor:
        return window_of(_chunks(descriptor), path, start, end, is_stopped)


def window_of(
    chunks: Iterable[bytes], path: Path, start: int, end: int, is_stopped: Callable[[], bool]
) -> Window:
    """The window of a file's bytes, of which it holds at most `MAX_WHOLE_BYTES` at a time.

    Raises: ToolError for a window above that, text that is not UTF-8, or when `is_stopped`.
    """
    kept: list[bytes] = []
    kept_bytes, number, last = 0, 1, b"\n"
    for chunk in chunks:
        if is_stopped():
            raise ToolError("the read was stopped")
        newlines = chunk.count(b"\n")
        if number <= end and number + newlines >= start:
            kept.append(_cut(chunk, number, start, end))
            kept_bytes += len(kept[-1])
        if kept_bytes > MAX_WHOLE_BYTES:
            raise ToolError(f"the window holds more than {MAX_WHOLE_BYTES:,} bytes; ask for fewer lines")
        number += newlines
        last = chunk[-1:]
    total = number - 1 if last == b"\n" else number
    text = decode(b"".join(kept), path).replace("\r\n", "\n").removesuffix("\n")
    return Window(text, start, min(end, total), total)


def _cut(chunk: bytes, number: int, start: int, end: int) -> bytes:
    """The part of `chunk`, whose first byte is in line `number`, that lies in lines `start` to `end`."""
    at = 0
    for _ in range(max(0, start - number)):
        at = chunk.index(b"\n", at) + 1
    if number + chunk.count(b"\n") <= end:
        return chunk[at:]
    stop = at
    for _ in range(end - max(number, start) + 1):
        stop = chunk.index(b"\n", stop) + 1
    return chunk[at:stop]


def _chunks(descriptor: int, limit_bytes: int | None = None) -> Iterator[bytes]:
    left = limit_bytes
    while left is None or left > 0:
        chunk = os.read(descriptor, _CHUNK_BYTES if left is None else min(_CHUNK_BYTES, left))
        if not chunk:
            return
        yield chunk
        if left is not None:
            left -= len(chunk)


def write_text(path: Path, text: str, expected: FileState | None) -> FileState:
    """Put `text` at a canonical path at one stroke, making its directories; an existing file's mode is kept.

    `expected` is what stands there now, or None for nothing. Raises: ToolError when it is not so; OSError.
    """
    with (
        open_parent(str(path), create=True) as parent,
        _temporary(path.name, parent) as (temporary, descriptor),
    ):
        _fill(descriptor, text.encode("utf-8"))
        present = stat_regular_at(path.name, parent)
        if (state_of(present) if present else None) != expected:
            raise ToolError(f"{shown(path)} was changed by something else during this call; read it again")
        if present:
            _keep_owner_and_mode(descriptor, present)
        os.fsync(descriptor)
        os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        return state_of(os.fstat(descriptor))


@contextmanager
def _temporary(name: str, parent: int) -> Iterator[tuple[str, int]]:
    temporary = f".{os.fsdecode(os.fsencode(name)[:100])}.{secrets.token_hex(6)}.tmp"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=parent
    )
    try:
        yield temporary, descriptor
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)


def _fill(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _keep_owner_and_mode(descriptor: int, present: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(descriptor, present.st_uid, present.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(present.st_mode))


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Turn the operating system's refusals inside into sentences that name `path`."""
    try:
        yield
    except OSError as error:
        raise failure(error, path) from error


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = open_regular(str(path))
    try:
        yield descriptor
    finally:
        os.close(descriptor)

"""The child process of `file_find` and `file_search`: walks trees by descriptor, matches names and lines.

Shape: one JSON line a report, `{"text", "shown", "total", "unreadable"}`: `text` is what came since the last
report, the rest are running totals; the last has `"end"`: `done`, `time` or `room`.
Imports nothing but the standard library and the engine; never follows a link to a directory.
"""

import _thread
import functools
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from meka.agent.childside import send, take_request
from meka.agent.tools.confined import (
    NotRegularError,
    ReadRule,
    is_within,
    open_parent,
    open_regular,
    open_regular_at,
)
from meka.agent.tools.engine import compile_bytes
from meka.agent.tools.lines import BLOCK_BYTES, matched_lines, split_blocks

MAX_ROW_CHARS = 2000
_REPORT_SECONDS = 0.2
_REPORT_CHARS = 64 * 1024
_COUNTING_SECONDS = 5.0
_SNIFF_BYTES = 8192
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SKIPPED = frozenset({"target", "node_modules"})


class _OverError(Exception):
    """The work ends here; the argument is the report's `end`."""


class Found(NamedTuple):
    """A file: its path, that below the root, its name in an open directory, where it leads if a link."""

    path: str
    relative: str
    name: str
    directory: int
    target: str | None


class Reporter:
    """Collects rows and hands them over in batches, counting what is past the limits.

    A thread sends what waits, so that rows are not lost when a match takes long and the parent ends us.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self._limit: int | None = request["limit"]
        self._room_chars: int = request["max_chars"]
        self._deadline: float = time.monotonic() + request["seconds"]
        self._counting_until: float | None = None
        self._lock = _thread.allocate_lock()
        self._rows: list[str] = []
        self._row_chars = 0
        self._shown = self._total = 0
        self.unreadable = 0

    def add(self, row: str) -> None:
        """One more row, shown while there is room for it."""
        with self._lock:
            self._total += 1
            if self._counting_until is not None:
                return
            self._keep(_one_line(row))
            if self._row_chars >= _REPORT_CHARS:
                self._send({})

    def check_time(self) -> None:
        """Raises: _OverError when the time is up."""
        now = time.monotonic()
        if now >= self._deadline:
            raise _OverError("time")
        if self._counting_until is not None and now >= self._counting_until:
            raise _OverError("room")

    def finish(self, end: str) -> None:
        """Send the rest, and why the work ended."""
        with self._lock:
            self._send({"end": end})

    def send_now_and_then(self) -> None:
        """Send what waits, for ever; the work of a thread."""
        while True:
            time.sleep(_REPORT_SECONDS)
            with self._lock:
                if self._rows:
                    self._send({})

    def _keep(self, row: str) -> None:
        self._rows.append(row)
        self._row_chars += len(row) + 1
        self._room_chars -= len(row) + 1
        self._shown += 1
        if self._shown == self._limit or self._room_chars <= 0:
            self._counting_until = time.monotonic() + _COUNTING_SECONDS

    def _send(self, more: dict[str, str]) -> None:
        text = "".join(row + "\n" for row in self._rows)
        totals = {"shown": self._shown, "total": self._total, "unreadable": self.unreadable}
        send(json.dumps({"text": text, **totals, **more}).encode() + b"\n")
        self._rows, self._row_chars = [], 0


class Walk:
    """Files below a directory, in the order of their names; links to directories are never entered."""

    def __init__(self, request: dict[str, Any], reporter: Reporter) -> None:
        self._rule = ReadRule(request["private"], request["readable"], not request["confined"])
        self._private: list[str] = request["private"]
        self._closed: set[tuple[int, int]] = set()
        self._skip_hidden: bool = request["skip_hidden"]
        self._max_depth: int | None = request["max_depth"]
        self._reporter = reporter

    def files(self, root: str) -> Iterator[Found]:
        """All that is no directory; private directories are left out unless `root` lies in them."""
        self._closed = {
            identity for path in self._private if not is_within(root, path) and (identity := _identity(path))
        }
        with open_parent(root.rstrip("/") + "/.") as parent, _opened(".", parent) as descriptor:
            yield from self._below(descriptor, root.rstrip("/") + "/", "", 1)

    def _below(self, directory: int, root: str, prefix: str, depth: int) -> Iterator[Found]:
        self._reporter.check_time()
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            name = entry.name
            if self._skip_hidden and (name.startswith(".") or name in _SKIPPED):
                continue
            if entry.is_dir(follow_symlinks=False):
                if self._max_depth is None or depth < self._max_depth:
                    yield from self._inside(directory, root, f"{prefix}{name}", depth)
                continue
            target = self._target(directory, name) if entry.is_symlink() else None
            if target != "":
                yield Found(f"{root}{prefix}{name}", f"{prefix}{name}", name, directory, target)

    def _inside(self, directory: int, root: str, relative: str, depth: int) -> Iterator[Found]:
        try:
            with _opened(os.path.basename(relative), directory) as inner:
                status = os.fstat(inner)
                if (status.st_dev, status.st_ino) in self._closed or not self._rule.may_read(root + relative):
                    return
                yield from self._below(inner, root, f"{relative}/", depth + 1)
        except (OSError, RecursionError):
            self._reporter.unreadable += 1

    def _target(self, directory: int, name: str) -> str:
        """The file a link leads to; "" for a directory, for nothing, and for what may not be read."""
        target = os.path.realpath(f"/proc/self/fd/{directory}/{name}")
        try:
            is_file = not stat.S_ISDIR(os.stat(target).st_mode)
        except OSError:
            return ""
        return target if is_file and self._rule.may_read(target) else ""


def main() -> None:
    """Answer the one request that stands at standard input."""
    request, _ = take_request()
    reporter = Reporter(request)
    _thread.start_new_thread(reporter.send_now_and_then, ())
    try:
        run_search(request, reporter)
        reporter.finish("done")
    except _OverError as over:
        reporter.finish(str(over))


def run_search(request: dict[str, Any], reporter: Reporter) -> None:
    """Find names, or search lines when the request has a `pattern`."""
    name_regex = compile_bytes(request["name_pattern"], whole_text=True) if request["name_pattern"] else None
    line_regex = compile_bytes(request["pattern"]) if request["pattern"] is not None else None
    walk = Walk(request, reporter)
    for root in request["roots"]:
        try:
            if line_regex is not None and not os.path.isdir(root):
                _search_file(functools.partial(open_regular, root), root, line_regex, reporter)
            else:
                _walk_root(walk.files(root), name_regex, line_regex, reporter)
        except OSError:
            reporter.unreadable += 1


def _walk_root(files: Iterator[Found], name_regex: Any, line_regex: Any, reporter: Reporter) -> None:
    for found in files:
        matched = found.relative if line_regex is None else found.name
        if name_regex is not None and name_regex.search(os.fsencode(matched)) is None:
            continue
        if line_regex is None:
            reporter.add(found.path)
        else:
            _search_file(functools.partial(_open_found, found), found.path, line_regex, reporter)


def _open_found(found: Found) -> int:
    if found.target is not None:
        return open_regular(found.target)
    return open_regular_at(found.name, found.directory)


def _search_file(opened: Callable[[], int], path: str, regex: Any, reporter: Reporter) -> None:
    try:
        descriptor = opened()
    except NotRegularError:
        return
    except OSError:
        reporter.unreadable += 1
        return
    try:
        _search_lines(descriptor, path, regex, reporter)
    except OSError:
        reporter.unreadable += 1
    finally:
        os.close(descriptor)


def _search_lines(descriptor: int, path: str, regex: Any, reporter: Reporter) -> None:
    for line in matched_lines(regex, split_blocks(_text_chunks(descriptor))):
        if line is None:
            reporter.check_time()
            continue
        text = line.text[: 4 * MAX_ROW_CHARS].decode("utf-8", "replace")
        cut = text if len(text) <= MAX_ROW_CHARS else text[:MAX_ROW_CHARS] + "..."
        reporter.add(f"{path}:{line.number}:{cut}")


def _text_chunks(descriptor: int) -> Iterator[bytes]:
    """The file's bytes, or none of them when it looks binary (a NUL near its start)."""
    chunk = os.read(descriptor, BLOCK_BYTES)
    if b"\0" in chunk[:_SNIFF_BYTES]:
        return
    while chunk:
        yield chunk
        chunk = os.read(descriptor, BLOCK_BYTES)


@contextmanager
def _opened(path: str, directory: int) -> Iterator[int]:
    descriptor = os.open(path, _OPEN_DIRECTORY, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _one_line(row: str) -> str:
    text = os.fsencode(row).decode("utf-8", "replace")
    return text.replace("\n", " ").replace("\r", " ")

"""`file_write` and `file_edit`: whole files written at one stroke, one call after another for each path."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from gevent.lock import BoundedSemaphore

from meka.agent.tools.base import Change, FileState, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.confined import open_parent, stat_regular_at
from meka.agent.tools.edits import Edit, apply_edit, edit_of, render_snippet
from meka.agent.tools.paths import FILE_PATH, PathRules, rules_of, shown
from meka.agent.tools.textfiles import naming, read_text, state_of, write_text
from meka.base.levels import Level
from meka.base.text import scrub

CHANGED = "has changed on disk since it was last read in this session; read it again, or pass force=true"


class PathLocks:
    """One lock a canonical path, kept for as long as somebody holds or awaits it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Path, BoundedSemaphore] = WeakValueDictionary()

    @contextmanager
    def held(self, path: Path) -> Iterator[None]:
        """Wait for the path's turn and hold it."""
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = BoundedSemaphore(1)
        with lock:
            yield


@dataclass(frozen=True, slots=True)
class _Written:
    """A file as it stood before (None: absent, or not readable as text) and as it stands now."""

    old: str | None
    existed: bool
    new: str
    state: FileState

    def change(self, path: Path) -> Change | None:
        """What clients are told; nothing when the text before is unknown."""
        if self.existed and self.old is None:
            return None
        return Change(str(path), self.old, self.new)


class FileWrite:
    """The tool."""

    name = "file_write"
    description = (
        "Write a whole file, creating it and its directories where they are missing. A file that was read in "
        "this session and has changed on disk since is not overwritten unless force is true, nor is one that "
        "cannot be read as text."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "path": FILE_PATH,
            "content": {"type": "string", "description": "The whole new text"},
            "force": {"type": "boolean", "description": "Overwrite whatever stands there; default false"},
        },
        "required": ["path", "content"],
    }
    level = Level.WORKSPACE
    summary_argument: str | None = "path"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, locks: PathLocks) -> None:
        self._locks = locks

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Write one file and note its new state as read. Raises: ToolError."""
        argument, content = arguments["path"], scrub(arguments["content"])
        rules = rules_of(context)
        path = context.run_blocking(rules.resolve_to_write, argument)
        with self._locks.held(path):
            seen = context.reads.seen.get(path)
            force = bool(arguments.get("force"))
            written = context.run_blocking(_write, rules, argument, path, content, seen, force)
            context.reads.seen[path] = written.state
        return ToolOutcome(
            f"Wrote {len(content.encode()):,} bytes to {shown(argument)}", change=written.change(path)
        )


class FileEdit:
    """The tool."""

    name = "file_edit"
    description = (
        "Change a text file that was read in this session: find old_string, exactly as it stands there, and "
        "give exactly one of new_string (takes its place), insert_before or insert_after (text put beside "
        "it). old_string must occur once unless replace_all is true."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "path": FILE_PATH,
            "old_string": {"type": "string", "description": "The text to find, whitespace included"},
            "new_string": {"type": "string", "description": "Replaces old_string; may be empty"},
            "insert_before": {"type": "string", "description": "Put right before old_string, which stays"},
            "insert_after": {"type": "string", "description": "Put right after old_string, which stays"},
            "replace_all": {"type": "boolean", "description": "Change every occurrence; default false"},
            "force": {
                "type": "boolean",
                "description": "Edit a file that was not read, or that has changed since; default false",
            },
        },
        "required": ["path", "old_string"],
    }
    level = Level.WORKSPACE
    summary_argument: str | None = "path"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, locks: PathLocks) -> None:
        self._locks = locks

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Edit one file and note its new state as read. Raises: ToolError."""
        argument, edit = arguments["path"], edit_of(arguments)
        rules = rules_of(context)
        path = context.run_blocking(rules.resolve_to_write, argument)
        with self._locks.held(path):
            seen = context.reads.seen.get(path)
            force = bool(arguments.get("force"))
            written, text = context.run_blocking(_edit, rules, argument, path, edit, seen, force)
            context.reads.seen[path] = written.state
        return ToolOutcome(text, change=written.change(path))


def _write(
    rules: PathRules, argument: str, path: Path, content: str, seen: FileState | None, force: bool
) -> _Written:
    _check_same(rules, argument, path)
    with naming(argument):
        present = _present_state(path)
        if present is None:
            return _Written(None, False, content, write_text(path, content, None))
        if not force and seen is not None and seen != present:
            raise ToolError(f"{shown(argument)} {CHANGED}")
        old = _readable_text(path, argument, force)
        return _Written(old, True, content, write_text(path, content, present))


def _edit(
    rules: PathRules, argument: str, path: Path, edit: Edit, seen: FileState | None, force: bool
) -> tuple[_Written, str]:
    _check_same(rules, argument, path)
    with naming(argument):
        old = read_text(path)
        if not force and seen is None:
            raise ToolError(f"{shown(argument)} was not read in this session; read it first with file_read")
        if not force and seen != old.state:
            raise ToolError(f"{shown(argument)} {CHANGED}")
        applied = apply_edit(edit, old.text, shown(argument))
        state = write_text(path, applied.text, old.state)
    line = f"{applied.verb} {applied.count} occurrence{'s' if applied.count > 1 else ''} in {shown(argument)}"
    return _Written(old.text, True, applied.text, state), f"{line}\n\n{render_snippet(applied)}"


def _check_same(rules: PathRules, argument: str, path: Path) -> None:
    """The path may have come to lead elsewhere while the call waited its turn."""
    if rules.resolve_to_write(argument) != path:
        raise ToolError(f"{shown(argument)} was changed by something else during this call; try again")


def _present_state(path: Path) -> FileState | None:
    try:
        with open_parent(str(path)) as parent:
            status = stat_regular_at(path.name, parent)
    except FileNotFoundError:
        return None
    return None if status is None else state_of(status)


def _readable_text(path: Path, argument: str, force: bool) -> str | None:
    try:
        return read_text(path).text
    except (ToolError, OSError) as error:
        if force:
            return None
        raise ToolError(
            f"{shown(argument)} exists and cannot be read as text; pass force=true to overwrite it"
        ) from error

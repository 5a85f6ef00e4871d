"""Sessions: created, listed, changed and deleted; a body is checked whole before anything is written."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from meka.agent.conversation import Conversation, Entry, entries_of
from meka.base.clock import Clock
from meka.base.errors import (
    InvalidBodyError,
    SessionLockedError,
    SessionNotDrivableError,
    SessionNotFoundError,
    SessionNotLoadedError,
    StoreUnavailableError,
)
from meka.base.ids import Ids
from meka.base.levels import Level
from meka.base.text import scrub
from meka.service.announce import Announcer
from meka.service.models import Models
from meka.service.pages import is_long, page_view
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.service.views import CAPABILITY_DEFAULTS, session_view
from meka.store import inbox, listing, messages, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.listing import Cursor, SessionFilter
from meka.store.locks import SessionLocks
from meka.store.sessions import SessionChanges, SessionRow

LOG = logging.getLogger(__name__)

TITLE_CHARS = 200
_DEFAULT_PAGE, _LARGEST_PAGE = 50, 200
_MESSAGES_PAGE, _LARGEST_MESSAGES_PAGE = 200, 1000
_LIVE_FIELDS = frozenset({"permission", "approvals", "working_directory"})
_FREE_FIELDS = frozenset({"title", "pinned"})
_QUIET_FIELDS = frozenset({"working_directory", "profile", "project"})


@dataclass(frozen=True, slots=True)
class SessionDefaults:
    """What a session gets that names nothing, and the levels there are."""

    permission: Level
    enabled: tuple[Level, ...]
    approvals: bool
    working_directory: Path


@dataclass(frozen=True, slots=True)
class History:
    """One page of a conversation as it was encoded, with what identifies the whole of it."""

    body: Any
    revision: int
    total: int


class Sessions:
    """The product rules of sessions."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        locks: SessionLocks,
        models: Models,
        defaults: SessionDefaults,
        announcer: Announcer,
        clock: Clock,
        ids: Ids,
        run_blocking: Callable[..., Any],
        compute: Callable[..., Any],
        project_names: Callable[[], Sequence[str]],
    ) -> None:
        self._project_names = project_names
        self._announcer = announcer
        self._database = database
        self._registry = registry
        self._locks = locks
        self._models = models
        self._defaults = defaults
        self._clock = clock
        self._ids = ids
        self._run_blocking = run_blocking
        self._compute = compute

    def create(self, body: Mapping[str, Any], token_fingerprint: str | None) -> dict[str, Any]:
        """Make a session and hold it. Raises: InvalidBodyError naming the field."""
        given = {key: value for key, value in body.items() if value is not None}
        profile = self._models.select(given.get("profile"))
        permission = (
            self._check_level(given["permission"]) if "permission" in given else self._defaults.permission
        )
        project = self._check_project(given.get("project", ""))
        directory = self._check_directory(
            given.get("working_directory", str(self._defaults.working_directory))
        )
        session_id = self._ids.new()
        lock = self._registry.lock(session_id)
        try:
            row = self._database.write(
                lambda tx: sessions.create(
                    tx,
                    session_id,
                    working_directory=directory,
                    permission=permission.value,
                    approvals=given.get("approvals", self._defaults.approvals),
                    profile=profile,
                    project=project,
                    capabilities={**CAPABILITY_DEFAULTS, **given.get("capabilities", {})},
                    token_fingerprint=token_fingerprint,
                )
            )
        except BaseException:
            lock.release()
            raise
        runtime = self._registry.adopt(row, lock, Conversation(self._database, session_id, (), row.revision))
        record = session_view(row, runtime)
        self._announcer.created(record)
        return record | {"inbox_pending": 0}

    def get(self, session_id: str) -> dict[str, Any]:
        """The session record. Raises: SessionNotFoundError."""
        runtime = self._registry.get(session_id)
        record = session_view(self._registry.row(session_id), runtime)
        if runtime is not None:
            waiting = self._database.read(lambda tx: inbox.pending(tx, session_id))
            record["inbox_pending"] = len(waiting)
        return record

    def list(
        self, where: SessionFilter, cursor: Cursor | None, limit: int | None
    ) -> tuple[list[dict[str, Any]], Cursor | None]:
        """A page of records, and the cursor of the next."""
        if where.working_directory is not None:
            where = replace(where, working_directory=self._canonical(where.working_directory))
        size = _clamp(limit, _DEFAULT_PAGE, _LARGEST_PAGE)
        rows, following = self._database.read(
            lambda tx: listing.list_page(tx, limit=size, cursor=cursor, where=where)
        )
        return [session_view(row, self._registry.get(row.id)) for row in rows], following

    def patch(self, session_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change a session: everything is checked first, then written, then in force.

        Raises: InvalidBodyError, SessionNotFoundError, SessionLockedError, TurnInFlightError.
        """
        given = {key: value for key, value in body.items() if value is not None}
        row = self._registry.row(session_id)
        self._refuse_sub_agent(row)
        changes = self._check_patch(given)
        fields = set(given)
        if fields <= _FREE_FIELDS:
            return self._patch_free(row, changes)
        if fields in ({"profile"}, {"project"}):
            return self._patch_row(row, changes)
        return self._patch_loaded(self._registry.load(session_id), fields, changes)

    def _check_patch(self, given: Mapping[str, Any]) -> SessionChanges:
        changes: SessionChanges = {}
        if "permission" in given:
            changes["permission"] = self._check_level(given["permission"]).value
        if "approvals" in given:
            changes["approvals"] = given["approvals"]
        if "working_directory" in given:
            changes["working_directory"] = self._check_directory(given["working_directory"])
        if "profile" in given:
            changes["profile"] = self._models.require(given["profile"])
        if "project" in given:
            changes["project"] = self._check_project(given["project"])
        if "title" in given:
            changes["title"] = check_title(given["title"])
        if "pinned" in given:
            changes["pinned_at"] = self._clock.now() if given["pinned"] else None
        return changes

    def _patch_free(self, row: SessionRow, changes: SessionChanges) -> dict[str, Any]:
        """A title and a pin are written whoever holds the session."""
        return self._changed(row.id, self._write(row, changes))

    def _changed(self, session_id: str, changed: bool) -> dict[str, Any]:
        """The record as it is now; a change is told to whoever follows."""
        record = self.get(session_id)
        if changed:
            self._announcer.updated({key: value for key, value in record.items() if key != "inbox_pending"})
        return record

    def _patch_row(self, row: SessionRow, changes: SessionChanges) -> dict[str, Any]:
        """A profile (or a project) alone moves the row without loading the session."""
        runtime = self._registry.get(row.id)
        if runtime is not None:
            return self._patch_loaded(runtime, {"profile", "project"} & set(changes), changes)
        lock = self._registry.lock(row.id)
        try:
            changed = self._write(self._registry.row(row.id), changes)
        finally:
            lock.release()
        return self._changed(row.id, changed)

    def _patch_loaded(
        self, runtime: SessionRuntime, fields: set[str], changes: SessionChanges
    ) -> dict[str, Any]:
        if fields & _QUIET_FIELDS:
            with runtime.hold():
                changed = self._apply(runtime, fields, changes)
        else:
            changed = self._apply(runtime, fields, changes)
        return self._changed(runtime.id, changed)

    def _apply(self, runtime: SessionRuntime, fields: set[str], changes: SessionChanges) -> bool:
        """Write, then put in force. Live settings apply even if their row cannot be written."""
        moves = False
        try:
            row = self._registry.row(runtime.id)
            # The row knows of renames that memory has not heard of: its name may be another profile's by now.
            moves = changes.get("profile", row.profile) != row.profile
            changed = self._write(row, changes)
        except StoreUnavailableError:
            if fields - _LIVE_FIELDS:
                raise
            LOG.exception("a session's row could not be written", extra={"session_id": runtime.id})
            changed = True
        live = {
            name: value for name, value in changes.items() if name in _LIVE_FIELDS | {"profile", "project"}
        }
        if moves:
            runtime.model = None
        runtime.row = replace(runtime.row, **live)  # type: ignore[arg-type]
        return changed

    def _write(self, row: SessionRow, changes: SessionChanges) -> bool:
        """Store what differs; a change that changes nothing leaves `updated_at` alone."""
        differing = {name: value for name, value in changes.items() if getattr(row, name) != value}
        if row.pinned_at is not None and changes.get("pinned_at") is not None:
            differing.pop("pinned_at", None)
        if not differing:
            return False
        touch = bool(set(differing) - {"title", "pinned_at"})
        self._database.write(lambda tx: sessions.update(tx, row.id, touch=touch, **differing))  # type: ignore[arg-type]
        return True

    def delete(self, session_id: str) -> None:
        """Delete a session with its sub-agents; one that is not there is deleted already.

        Raises: TurnInFlightError, SessionLockedError.
        """
        tree = self._database.read(lambda tx: sessions.tree(tx, session_id))
        held = [runtime for each in tree if (runtime := self._registry.get(each)) is not None]
        with ExitStack() as stack:
            for runtime in held:
                stack.enter_context(runtime.hold())
            locks = self._locks.try_acquire_all(each for each in tree if self._registry.get(each) is None)
            if locks is None:
                raise SessionLockedError(session_id)
            for lock in locks.values():
                stack.callback(lock.discard)
            gone = self._database.write(lambda tx: sessions.delete_tree(tx, session_id))
            for runtime in held:
                runtime.lock.discard()
                self._registry.unload(runtime)
            self._announcer.deleted(gone)

    def history(
        self,
        session_id: str,
        offset: int | None,
        limit: int | None,
        encode: Callable[[Mapping[str, Any]], Any] = dict,
    ) -> History:
        """A page of the materialized view; reading never loads the session. Raises: SessionNotFoundError.

        A long page is put together and encoded in a thread: it would keep everybody waiting.
        """
        entries, revision = self._view(session_id)
        start = max(0, offset or 0)
        shown = range(start, start + _clamp(limit, _MESSAGES_PAGE, _LARGEST_MESSAGES_PAGE))

        def make() -> Any:
            return encode(page_view(session_id, entries, revision, shown))

        body = self._compute(make) if is_long(entries, shown) else make()
        return History(body, revision, len(entries))

    def _view(self, session_id: str) -> tuple[Sequence[Entry], int]:
        runtime = self._registry.get(session_id)
        if runtime is not None:
            return tuple(runtime.conversation.entries), runtime.conversation.revision

        def query(tx: Tx) -> tuple[SessionRow | None, list[Entry]]:
            row = sessions.get(tx, session_id)
            return row, [] if row is None else entries_of(messages.load(tx, session_id))

        row, entries = self._database.read_long(query)
        if row is None:
            raise SessionNotFoundError(session_id)
        return entries, row.revision

    def loaded(self, session_id: str) -> SessionRuntime:
        """The session, when this process holds it. Raises: SessionNotFoundError, SessionNotLoadedError."""
        runtime = self._registry.get(session_id)
        if runtime is None:
            self._registry.row(session_id)
            raise SessionNotLoadedError(
                f"session '{session_id}' is not loaded by this server; a turn loads it", session_id=session_id
            )
        return runtime

    def _refuse_sub_agent(self, row: SessionRow) -> None:
        if row.parent_id is not None:
            raise not_drivable(row)

    def _check_level(self, name: str) -> Level:
        level = Level(name)
        if level not in self._defaults.enabled:
            enabled = ", ".join(self._defaults.enabled)
            raise InvalidBodyError(f"`permission` is invalid: '{name}' is not enabled (enabled: {enabled})")
        return level

    def _check_project(self, name: str) -> str:
        """Empty for none. Raises: InvalidBodyError for a project that is not there."""
        names = self._project_names() if name else ()
        if name and name not in names:
            raise InvalidBodyError(f"no project named '{name}' (configured: {', '.join(names) or 'none'})")
        return name

    def _check_directory(self, given: str) -> str:
        directory: str = self._run_blocking(canonical_directory, given)
        return directory

    def _canonical(self, given: str) -> str:
        """A filter's directory as sessions record it."""
        if not given.startswith("/") or "\0" in given:
            return given
        path: str = self._run_blocking(lambda: str(Path(given).resolve()))
        return path


def not_drivable(row: SessionRow) -> SessionNotDrivableError:
    """The refusal of a sub-agent's id on the routes that drive a session."""
    return SessionNotDrivableError(
        f"session '{row.id}' is a sub-agent's; continue it with agent_followup from its parent "
        f"'{row.parent_id}'",
        session_id=row.id,
    )


def check_title(given: str) -> str | None:
    """A title as it is stored: one line, whitespace collapsed; None clears. Raises: InvalidBodyError."""
    title = " ".join(scrub(given).split())
    if len(title) > TITLE_CHARS:
        raise InvalidBodyError(f"`title` is invalid: {len(title)} characters, at most {TITLE_CHARS} are kept")
    return title or None


def canonical_directory(given: str) -> str:
    """A working directory in the spelling sessions record. Raises: InvalidBodyError naming the field."""
    problem = None
    if "\0" in given:
        problem = "it holds a null byte"
    elif not given.startswith("/"):
        problem = f"'{given}' is not an absolute path"
    else:
        try:
            path = Path(given).resolve(strict=True)
            if path.is_dir():
                return str(path)
            problem = f"'{given}' is not a directory"
        except (OSError, RuntimeError, ValueError):
            problem = f"'{given}' does not exist on this server"
    raise InvalidBodyError(f"`working_directory` is invalid: {problem}")


def _clamp(given: int | None, default: int, largest: int) -> int:
    return default if given is None else min(max(given, 1), largest)

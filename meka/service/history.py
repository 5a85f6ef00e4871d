"""The conversation as a thing that is cut back and copied: rewind and fork, on the condition that was set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from meka.agent.conversation import Conversation, Entry
from meka.agent.labels import openings
from meka.base.errors import InvalidBodyError, NotFoundError, PreconditionFailedError
from meka.base.ids import Ids
from meka.service.announce import Announcer
from meka.service.checklists import announce_checklist
from meka.service.registry import Quiet, Registry, tools_in_force
from meka.service.runtime import SessionRuntime
from meka.service.sessions import canonical_directory, not_drivable
from meka.service.views import session_view
from meka.store import blobs, inbox, messages, scratchpad, sessions, turns
from meka.store.blobs import Blob
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.sessions import SessionRow

Condition = Callable[[int, int], bool]
"""Whether a conversation with this revision and total is the one that was asked for."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """What a rewind did. `messages_after` and `revision` identify the conversation now."""

    session_id: str
    turns_removed: int
    messages_before: int
    messages_after: int
    revision: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a view is cut, and what that takes out."""

    position: int
    turns: int
    dropped: tuple[Entry, ...]


def plan_cut(entries: list[Entry], turns_: int) -> Cut:
    """The place of the last so many turns. Raises: InvalidBodyError when there are fewer."""
    begins = [position for position, opens in enumerate(openings(entries)) if opens]
    if not 1 <= turns_ <= len(begins):
        raise InvalidBodyError(
            f"`turns` is invalid: {turns_} cannot be dropped, the conversation has {len(begins)} to rewind"
        )
    position = begins[-turns_]
    return Cut(position, turns_, tuple(entries[position:]))


def cut_back(conversation: Conversation, turns_: int) -> tuple[Rewound, list[str]]:
    """Drop the last turns. Shape: what was done, and the inbox items that are offered again."""
    before = conversation.total
    cut = plan_cut(conversation.entries, turns_)
    offered: list[str] = []

    def unit(tx: Tx, _rows: object) -> None:
        seqs = {entry.seq for entry in cut.dropped}
        offered.extend(inbox.offer_again_from(tx, conversation.session_id, seqs))
        if cut.position == 0:
            sessions.change(tx, conversation.session_id, touch=False, first_words=None)
        # What the window held was measured over messages that are gone.
        sessions.change(tx, conversation.session_id, touch=False, context_tokens=None)

    conversation.rewind(cut.position, unit)
    done = Rewound(conversation.session_id, cut.turns, before, conversation.total, conversation.revision)
    return done, offered


def copy_session(tx: Tx, source: SessionRow, **changes: Any) -> None:
    """Make a session that holds what another does, but for its pin, inbox, tasks and sub-agents."""
    now = tx.now()
    row = replace(source, created_at=now, updated_at=now, pinned_at=None, last_turn=None, **changes)
    sessions.add(tx, row)
    messages.copy(tx, source.id, row.id)
    turns.copy(tx, source.id, row.id)
    blobs.copy(tx, source.id, row.id)
    scratchpad.copy(tx, source.id, row.id)


class Histories:
    """Rewinds and forks. One instance a process; `poke` tells that a session's inbox has something again."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        announcer: Announcer,
        ids: Ids,
        run_blocking: Callable[..., Any],
        poke: Callable[[str], None],
    ) -> None:
        self._database = database
        self._registry = registry
        self._announcer = announcer
        self._ids = ids
        self._run_blocking = run_blocking
        self._poke = poke

    def rewind(self, session_id: str, turns_: int, condition: Condition) -> Rewound:
        """Drop the last turns of a session, a sub-agent's included.

        Raises: InvalidBodyError, and nothing dropped, when there are fewer; PreconditionFailedError;
        SessionNotFoundError, TurnInFlightError, SessionLockedError.
        """
        with self._registry.quiet(session_id) as quiet:
            _require(quiet.conversation, condition)
            done, offered = cut_back(quiet.conversation, turns_)
            if quiet.runtime is not None:
                self._bring_up_to_date(quiet.runtime, done, offered)
        if offered:
            self._poke(session_id)
        return done

    def _bring_up_to_date(self, runtime: SessionRuntime, done: Rewound, offered: list[str]) -> None:
        """What memory says of the conversation follows it, then readers are told."""
        runtime.taken.difference_update(offered)
        runtime.may_wait = runtime.may_wait or bool(offered)
        for item_id in offered:
            runtime.appended.pop(item_id, None)
        # The model no longer sees all that it was told; the next opening tells it whole.
        runtime.world = None
        runtime.loaded_tools = tools_in_force(runtime.conversation)
        runtime.context_tokens = 0
        rewound = {
            "revision": done.revision, "total": done.messages_after, "turns_removed": done.turns_removed,
        }  # fmt: skip
        runtime.emit("conversation.rewound", rewound, None)
        announce_checklist(runtime, lambda name, payload: runtime.emit(name, payload, None))
        if done.messages_after == 0:
            self._announcer.updated(session_view(self._registry.row(runtime.id), runtime))

    def fork(
        self,
        session_id: str,
        body: Mapping[str, Any],
        token_fingerprint: str | None,
        condition: Condition,
    ) -> dict[str, Any]:
        """Copy a session and hold the copy; its record.

        Raises: InvalidBodyError naming the field; SessionNotDrivableError, PreconditionFailedError;
        SessionNotFoundError, TurnInFlightError, SessionLockedError.
        """
        row = self._registry.row(session_id)
        if row.parent_id is not None:
            raise not_drivable(row)
        given = body.get("working_directory")
        directory = None if given is None else self._run_blocking(canonical_directory, given)
        with self._registry.quiet(session_id) as quiet:
            _require(quiet.conversation, condition)
            runtime = self._copy(quiet, directory, token_fingerprint)
        record = session_view(self._registry.row(runtime.id), runtime)
        self._announcer.created(record)
        return record | {"inbox_pending": 0}

    def _copy(self, quiet: Quiet, directory: str | None, token_fingerprint: str | None) -> SessionRuntime:
        source = quiet.row
        new_id = self._ids.new()
        lock = self._registry.lock(new_id)
        try:
            self._database.write(
                lambda tx: copy_session(
                    tx,
                    source,
                    id=new_id,
                    working_directory=directory or source.working_directory,
                    token_fingerprint=token_fingerprint,
                )
            )
            conversation = Conversation.load(self._database, new_id, source.revision)
            return self._registry.adopt(self._registry.row(new_id), lock, conversation)
        except BaseException:
            lock.release()
            raise

    def blob(self, session_id: str, digest: str) -> Blob:
        """An image that the session holds. Raises: SessionNotFoundError, NotFoundError."""
        blob = self._database.read(lambda tx: blobs.get_for_session(tx, session_id, digest))
        if blob is None:
            self._registry.row(session_id)
            raise NotFoundError(f"session '{session_id}' holds no such image", session_id=session_id)
        return blob


def _require(conversation: Conversation, condition: Condition) -> None:
    if not condition(conversation.revision, conversation.total):
        raise PreconditionFailedError(
            "the conversation is not as it was read; read it again and decide again",
            session_id=conversation.session_id,
            revision=conversation.revision,
            total=conversation.total,
        )

"""The inbox: the asynchronous door of a session. An item is durable before it is answered for."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from meka.base.clock import Clock, rfc3339
from meka.base.errors import (
    IdempotencyError,
    InboxAppendedError,
    InvalidBodyError,
    NotFoundError,
    SessionNotFoundError,
)
from meka.base.ids import Ids
from meka.base.text import one_line, scrub
from meka.service.registry import Registry
from meka.service.sessions import not_drivable
from meka.service.views import item_view
from meka.store import inbox, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow, ItemState


class Inboxes:
    """Takes items in. `poke` tells the dispatcher that a session may have work."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        clock: Clock,
        ids: Ids,
        retry_ceiling_seconds: float,
        poke: Callable[[str], None],
    ) -> None:
        self._database = database
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._retry_ceiling = timedelta(seconds=retry_ceiling_seconds)
        self._poke = poke

    def post(self, session_id: str, body: Mapping[str, Any], token: str, key: str | None) -> dict[str, Any]:
        """Take an item in, or answer with the one its key is bound to already.

        Raises: SessionNotFoundError, SessionNotDrivableError, InvalidBodyError, IdempotencyError.
        """
        message = scrub(body["message"])
        if not message.strip():
            raise InvalidBodyError("invalid inbox request body: `message` is blank")
        item = self._item(session_id, message, body, token, key)

        def unit(tx: Tx) -> tuple[InboxRow, bool]:
            _check_drivable(tx, session_id)
            earlier = None if key is None else inbox.find_key(tx, session_id, token, key)
            return (inbox.add(tx, item), False) if earlier is None else (earlier, True)

        stored, replayed = self._database.write(unit)
        if replayed and stored.body_digest != item.body_digest:
            raise IdempotencyError(
                "the Idempotency-Key is bound to an item with another message or class",
                session_id=session_id,
                item_id=stored.id,
            )
        if not replayed:
            self._wake(session_id, stored)
        return answer_view(stored, replayed=replayed)

    def _item(
        self, session_id: str, message: str, body: Mapping[str, Any], token: str, key: str | None
    ) -> InboxRow:
        now = self._clock.now()
        # One line: it stands in the header above the words, where it must not look like one of its own.
        source = one_line(scrub(body.get("source") or ""))
        runtime = self._registry.get(session_id)
        active = None if runtime is None else runtime.active
        return InboxRow(
            id=self._ids.new(),
            session_id=session_id,
            class_=body["class"],
            message=message,
            state=ItemState.PENDING,
            created_at=now,
            retry_until=now + self._retry_ceiling,
            source=source or None,
            mid_turn=active is not None and active.begun.ready(),
            token=token,
            idempotency_key=key,
            body_digest=_digest(message, body["class"]),
        )

    def _wake(self, session_id: str, item: InboxRow) -> None:
        runtime = self._registry.get(session_id)
        if runtime is not None:
            runtime.note_landed(cuts=item.class_ == "interrupt")
        self._poke(session_id)

    def list(self, session_id: str) -> dict[str, Any]:
        """The items the model has not been shown. Raises: SessionNotFoundError."""
        self._registry.row(session_id)
        rows = self._database.read(lambda tx: inbox.open_items(tx, session_id))
        return {"session_id": session_id, "items": [item_view(row) for row in rows]}

    def withdraw(self, session_id: str, item_id: str) -> None:
        """Take back an item that still waits.

        Raises: SessionNotFoundError, NotFoundError, InboxAppendedError.
        """
        runtime = self._registry.get(session_id)
        if runtime is not None and item_id in runtime.taken:
            raise _appended(session_id, item_id)
        item = self._database.write(lambda tx: inbox.withdraw_pending(tx, session_id, item_id))
        if item is None or item.state in (ItemState.DELIVERED, ItemState.WITHDRAWN):
            self._registry.row(session_id)
            raise NotFoundError(
                f"no item '{item_id}' is waiting in session '{session_id}'", session_id=session_id
            )
        if item.state is ItemState.APPENDED:
            raise _appended(session_id, item_id)
        runtime = self._registry.get(session_id)
        if runtime is not None:
            active = runtime.active
            runtime.emit("inbox.withdrawn", {"item_id": item_id}, active.turn.id if active else None)


def _check_drivable(tx: Tx, session_id: str) -> None:
    """Raises: SessionNotFoundError, SessionNotDrivableError."""
    if sessions.is_drivable(tx, session_id):
        return
    row = sessions.get(tx, session_id)
    raise SessionNotFoundError(session_id) if row is None else not_drivable(row)


def _appended(session_id: str, item_id: str) -> InboxAppendedError:
    return InboxAppendedError(
        f"item '{item_id}' is in the conversation already; only a turn can answer it now",
        session_id=session_id,
    )


def answer_view(row: InboxRow, *, replayed: bool) -> dict[str, Any]:
    """The 202: the item and where it stands, for a replayed key with what became of it."""
    view: dict[str, Any] = {
        "item_id": row.id,
        "session_id": row.session_id,
        "class": row.class_,
        "state": row.state.value,
        "replayed": replayed,
        "retry_until": rfc3339(row.retry_until),
    }
    if row.not_before is not None and row.state is ItemState.PENDING:
        view["not_before"] = rfc3339(row.not_before)
    if row.failure is not None:
        view["failure"] = row.failure
    if row.last_error is not None and (row.failure is not None or row.state is ItemState.PENDING):
        view["last_error"] = row.last_error
    return view


def _digest(message: str, class_: str) -> str:
    return hashlib.sha256(json.dumps([message, class_]).encode()).hexdigest()

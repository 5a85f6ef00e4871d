"""A loaded session without a store, and its readers, for tests of what is live."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from meka.agent.blocks import Text, TurnContext
from meka.agent.cancel import Cancel
from meka.agent.turn import Source, Turn
from meka.base.errors import SessionNotFoundError
from meka.service.feed import Feed
from meka.service.reader import Reader
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.store.sessions import SessionRow

SESSION = "00000000-0000-4000-8000-000000000001"
TURN = "00000000-0000-4000-8000-0000000000aa"
PARENT = "00000000-0000-4000-8000-0000000000ff"
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
FIRST_ID = 1_000


class Numbers:
    """Ids in order."""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> str:
        self._last += 1
        return f"00000000-0000-4000-8000-{self._last:012}"


class OneSession:
    """A registry that holds one session, loaded or not."""

    def __init__(self, runtime: SessionRuntime, *, loaded: bool = True) -> None:
        self._runtime = runtime
        self.loaded = loaded

    def get(self, session_id: str) -> SessionRuntime | None:
        return self._runtime if self.loaded and session_id == self._runtime.id else None

    def row(self, session_id: str) -> SessionRow:
        if session_id != self._runtime.id:
            raise SessionNotFoundError(session_id)
        return self._runtime.row

    def load(self, session_id: str) -> SessionRuntime:
        self.row(session_id)
        self.loaded = True
        return self._runtime


def make_runtime(replay_events: int = 256, **row: Any) -> SessionRuntime:
    """A loaded session; `row` overrides what its row says."""
    facts: dict[str, Any] = {
        "working_directory": "/",
        "permission": "read",
        "approvals": True,
        "profile": "p",
    }
    stored = SessionRow(SESSION, MOMENT, MOMENT, **(facts | row))
    feed = Feed(FIRST_ID, replay_events, {"session_id": SESSION})
    runtime = SessionRuntime(row=stored, lock=None, conversation=None, feed=feed, system_prompt="")
    feed.observers.append(runtime.observe)
    return runtime


def open_turn(runtime: SessionRuntime, *, held: bool = True, streaming: bool = True) -> ActiveTurn:
    """A turn in flight that readers have been told of."""
    turn = Turn(
        id=TURN,
        session_id=SESSION,
        source=Source.CLIENT,
        permission="read",
        started_at=MOMENT,
        opening=(TurnContext("<context></context>"), Text("go")),
        withdraws=False,
        cancel=Cancel(),
    )
    active = ActiveTurn(turn, held=held, streaming=streaming)
    runtime.take(active)
    return active


class Seen:
    """An event as a reader was handed it."""

    def __init__(self, frame: bytes) -> None:
        fields = dict(line.split(": ", 1) for line in frame.decode().removesuffix("\n\n").split("\n"))
        self.name = fields["event"]
        self.id = int(fields["id"]) if "id" in fields else None
        self.data: Mapping[str, Any] = json.loads(fields["data"])

    def __repr__(self) -> str:
        return f"{self.name}#{self.id}"


def take(reader: Reader) -> list[Seen]:
    """What a reader is handed until there is nothing more."""
    found: list[Seen] = []
    while frames := reader.next_frames(0):
        found.extend(map(Seen, frames))
    return found

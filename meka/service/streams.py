"""The session feed and the server feed as clients open them: who may, and what a joiner is told first."""

from meka.agent.blocks import Message, Role
from meka.agent.views import message_view
from meka.base.clock import Clock
from meka.base.errors import (
    ScopeError,
    SessionNotLoadedError,
    SubagentNotRunningError,
)
from meka.service.feed import Feed
from meka.service.frames import Opening
from meka.service.reader import Reader
from meka.service.registry import Registry
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.sessions import not_drivable

READ, WRITE = "sessions:r", "sessions:w"


class FeedReader:
    """One client's reading of a session's feed, until it leaves."""

    def __init__(
        self, runtime: SessionRuntime, reader: Reader, clock: Clock, *, attends: bool, keeps: bool
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._reader = reader
        self._attends = attends
        self._keeps = keeps
        self._left = False
        runtime.attending += attends
        runtime.keepers += keeps
        runtime.attendance.set()

    @property
    def needs(self) -> frozenset[str]:
        """The scopes that a token has to hold for as long as it reads this way."""
        return frozenset({READ, WRITE} if self._attends or self._keeps else {READ})

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """What comes next; [] when nothing came in time, None at the end."""
        return self._reader.next_frames(timeout_seconds)

    def close(self) -> None:
        """Leave the feed."""
        self._reader.close()
        if not self._left:
            self._left = True
            self._runtime.attending -= self._attends
            self._runtime.keepers -= self._keeps
            self._runtime.note_leaving(self._clock.monotonic())


class Streams:
    """Opens feeds."""

    def __init__(self, registry: Registry, server_feed: Feed, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        self._server_feed = server_feed

    def open_session(
        self, session_id: str, scopes: frozenset[str], last_event_id: str | None, *, attend: bool
    ) -> FeedReader:
        """A session's feed. Only a token that may drive the session loads it, keeps it loaded or attends."""
        if attend and WRITE not in scopes:
            raise ScopeError(f"scope '{WRITE}' is required")
        runtime = self._registry.get(session_id) or self._load(session_id, scopes, attend=attend)
        if attend and runtime.row.parent_id is not None:
            raise not_drivable(runtime.row)
        opening = join(runtime, last_event_id)
        reader = runtime.feed.attach(opening)
        return FeedReader(runtime, reader, self._clock, attends=attend, keeps=WRITE in scopes)

    def _load(self, session_id: str, scopes: frozenset[str], *, attend: bool) -> SessionRuntime:
        row = self._registry.row(session_id)
        if row.parent_id is not None:
            if attend:
                raise not_drivable(row)
            raise SubagentNotRunningError(
                f"session '{session_id}' is a sub-agent of '{row.parent_id}', which is not running it here",
                session_id=session_id,
            )
        if WRITE not in scopes:
            raise SessionNotLoadedError(
                f"session '{session_id}' is not loaded, and loading it takes the scope '{WRITE}'",
                session_id=session_id,
            )
        return self._registry.load(session_id)

    def open_server(self, last_event_id: str | None) -> Reader:
        """The server's feed."""
        return self._server_feed.attach(self._server_feed.rejoin(last_event_id))


def join(runtime: SessionRuntime, last_event_id: str | None) -> Opening:
    """What a reader of a session's feed is told first: the turn it joins, then the hole and the replay."""
    backlog = runtime.feed.rejoin(last_event_id)
    active = runtime.active
    if active is None or not active.is_announced:
        return backlog
    frames = [_resumed_start(runtime, active)]
    if active.opened_id is not None and not _will_have(runtime, backlog, last_event_id, active.opened_id):
        frames.append(_resumed_message(runtime, active))
    return backlog.after(frames)


def _will_have(runtime: SessionRuntime, backlog: Opening, last_event_id: str | None, event_id: int) -> bool:
    """Whether a reader had an event before it left, or is handed it by the replay."""
    had = runtime.feed.issued(last_event_id)
    return backlog.position <= event_id or (had is not None and had >= event_id)


def _resumed_start(runtime: SessionRuntime, active: ActiveTurn) -> bytes:
    turn = active.turn
    payload = {"resumed": True, "source": turn.source.value, **turn.started_extra}
    return runtime.feed.encode("turn.started", payload, turn.id)


def _resumed_message(runtime: SessionRuntime, active: ActiveTurn) -> bytes:
    """The turn's opening as it was first announced."""
    turn = active.turn
    message = {**message_view(Message(Role.USER, turn.opening)), "turn_id": turn.id}
    return runtime.feed.encode("message.appended", {"message": message, "resumed": True}, turn.id)

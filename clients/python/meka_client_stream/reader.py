"""Feeds and turns' streams over httpx: read as they come, taken up again where the line dropped.

Every function takes an `httpx.Client` with the base URL and the token in it, such as the generated client's
`AuthenticatedClient(...).get_httpx_client()`.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from .errors import ProblemError, StreamLostError
from .events import Event, event_of
from .sse import SseDecoder

# The server says something every 20 seconds: after three times that, nobody is there.
_TIMEOUT = httpx.Timeout(10.0, read=60.0)
_DROPS = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class Reconnect:
    """How a dropped line is taken up again.

    The pause is what the server's `retry:` says (`first_seconds` until it has), doubled by each attempt that
    brings no event, up to `longest_seconds`. `attempts` is how many such attempts in a row are made before
    the failure is raised; None never gives up.
    """

    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    attempts: int | None = None
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


def follow_session(
    client: httpx.Client,
    session_id: str,
    *,
    last_event_id: str | None = None,
    attend: bool = False,
    reconnect: Reconnect = Reconnect(),
) -> Iterator[Event]:
    """A session's feed, for as long as the caller reads. A `feed.gap` says that events were lost.

    Raises: ProblemError when the server refuses (a 4xx); whatever dropped the line once attempts ran out.
    """
    params = {"attend": "true"} if attend else {}
    yield from _Line(client, reconnect, last_event_id).follow(_feed_path(session_id), params)


def follow_server(
    client: httpx.Client, *, last_event_id: str | None = None, reconnect: Reconnect = Reconnect()
) -> Iterator[Event]:
    """The server's feed: what changes in the list of sessions. Raises: as `follow_session`."""
    yield from _Line(client, reconnect, last_event_id).follow("/v1/stream", {})


def run_turn(
    client: httpx.Client,
    session_id: str,
    body: Mapping[str, Any],
    *,
    reconnect: Reconnect = Reconnect(),
) -> Iterator[Event]:
    """Submit a turn and read it to its terminal event.

    The turn is submitted once: a line that drops later is taken up on the session's feed.
    Raises: ProblemError; httpx's error when the line dropped before it was known whether the turn began;
    StreamLostError when the turn ended unseen.
    """
    line = _Line(client, reconnect, None)
    turn_id: str | None = None
    try:
        for event in line.read("POST", f"/v1/sessions/{session_id}/turn", json={**body, "stream": True}):
            turn_id = turn_id or event.turn_id
            yield event
            if event.is_terminal:
                return
    except _DROPS:
        if turn_id is None:
            raise
    if turn_id is None:
        raise StreamLostError("the turn's stream ended before its first event")
    line.pause(None)
    yield from _rejoin(line, session_id, turn_id)


def _rejoin(line: "_Line", session_id: str, turn_id: str) -> Iterator[Event]:
    for event in line.follow(_feed_path(session_id), {}):
        if event.turn_id != turn_id and not event.is_gap:
            continue
        yield event
        if event.is_terminal:
            return
        if event.is_gap and "dropped" not in event.data:
            # A server that never issued our position was started since: it will not say how the turn ended.
            line.check_is_running(session_id, turn_id)


def _feed_path(session_id: str) -> str:
    return f"/v1/sessions/{session_id}/stream"


@dataclass(slots=True)
class _Line:
    """One reader's place in a feed, across connections."""

    client: httpx.Client
    reconnect: Reconnect
    last_event_id: str | None
    retry_seconds: float = field(init=False)
    failures: int = 0

    def __post_init__(self) -> None:
        self.retry_seconds = self.reconnect.first_seconds

    def follow(self, path: str, params: Mapping[str, str]) -> Iterator[Event]:
        """Read, and read again from where it broke off."""
        while True:
            failure: Exception | None = None
            try:
                yield from self.read("GET", path, params=params)
            except ProblemError as error:
                if error.status < httpx.codes.INTERNAL_SERVER_ERROR:
                    raise
                failure = error
            except _DROPS as error:
                failure = error
            self.pause(failure)

    def read(self, method: str, path: str, **request: Any) -> Iterator[Event]:
        """One connection's events. An event that was cut off does not count as had."""
        headers = {"Accept": "text/event-stream"}
        if self.last_event_id is not None:
            headers["Last-Event-ID"] = self.last_event_id
        with self.client.stream(method, path, headers=headers, timeout=_TIMEOUT, **request) as response:
            _refuse_problem(response)
            decoder = SseDecoder()
            for chunk in response.iter_bytes():
                frames = decoder.feed(chunk)
                self.retry_seconds = decoder.retry_seconds or self.retry_seconds
                for frame in frames:
                    self.failures = 0
                    self.last_event_id = frame.id or self.last_event_id
                    yield event_of(frame)

    def pause(self, failure: Exception | None) -> None:
        """Wait before the next attempt. Raises: `failure`, or StreamLostError, when it was the last."""
        limit = self.reconnect.attempts
        if limit is not None and self.failures >= limit:
            raise failure or StreamLostError("the server keeps ending the stream")
        # Past 16 doublings the longest pause has long been reached.
        seconds = min(self.retry_seconds * 2 ** min(self.failures, 16), self.reconnect.longest_seconds)
        asked = failure.retry_after_seconds if isinstance(failure, ProblemError) else None
        self.failures += 1
        self.reconnect.sleep(max(seconds, asked or 0.0) * (1 + self.reconnect.jitter() / 4))

    def check_is_running(self, session_id: str, turn_id: str) -> None:
        """Raises: StreamLostError when the turn has ended."""
        response = self.client.get(f"/v1/sessions/{session_id}/turns/{turn_id}")
        if response.status_code != httpx.codes.OK or "ended_at" in response.json():
            raise StreamLostError("the turn ended unseen; its record says how", turn_id)


def _refuse_problem(response: httpx.Response) -> None:
    if response.status_code == httpx.codes.OK and response.headers["Content-Type"].startswith(
        "text/event-stream"
    ):
        return
    response.read()
    raise ProblemError(response.status_code, _problem_in(response))


def _problem_in(response: httpx.Response) -> Mapping[str, Any]:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}

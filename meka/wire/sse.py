"""Server-sent events: a response that sends frames as a source hands them out."""

from collections.abc import Iterator
from typing import Protocol

import flask

from meka.wire.connection import Connection

RETRY = b"retry: 3000\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
KEEP_ALIVE_SECONDS = 20.0
EVENT_STREAM = "text/event-stream"
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class FrameSource(Protocol):
    """Where a stream's frames come from; one reader's place in a feed."""

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """Frames as soon as there are any; none when the time passed without one; None at the end."""

    def close(self) -> None:
        """Let go of the feed, and end a `next_frames` that waits.

        Called exactly once; when the client leaves, from the hub, so it must not block.
        """


class EventStream:
    """The body of a stream: the retry hint, then frames, with a comment where nothing happens for a while."""

    def __init__(self, source: FrameSource, connection: Connection, keep_alive_seconds: float) -> None:
        self._source = source
        self._keep_alive_seconds = keep_alive_seconds
        self._greeted = False
        self._closed = False
        connection.on_disconnect(self.close)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._greeted:
            # At once, so that the head goes out too: the client knows that it is connected.
            self._greeted = True
            return RETRY
        if self._closed:
            raise StopIteration
        frames = self._source.next_frames(self._keep_alive_seconds)
        if frames is None or self._closed:
            raise StopIteration
        return b"".join(frames) if frames else KEEP_ALIVE

    def close(self) -> None:
        """Close the source, once: at the end, or when the client leaves."""
        if not self._closed:
            self._closed = True
            self._source.close()


def stream_response(
    source: FrameSource,
    connection: Connection,
    *,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    headers: dict[str, str] | None = None,
) -> flask.Response:
    """The answer that streams `source` to the client behind `connection`; it owns `source` from here on.

    A HEAD gets the head alone, and `source` is closed at once.
    """
    stream = EventStream(source, connection, keep_alive_seconds)
    if flask.request.method == "HEAD":
        stream.close()
    return flask.Response(
        stream, headers=_HEADERS | (headers or {}), content_type=EVENT_STREAM, direct_passthrough=True
    )


def head_response() -> flask.Response:
    """The head of a stream, for a HEAD: nothing is opened."""
    return flask.Response(iter(()), headers=_HEADERS, content_type=EVENT_STREAM, direct_passthrough=True)

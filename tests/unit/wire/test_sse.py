"""Streams: what goes over the wire, and that a source is closed once however the stream ends."""

from collections.abc import Callable

import flask
import pytest

from meka.wire.connection import UnwatchedConnection, connection_of
from meka.wire.sse import stream_response


class Source:
    """Hands out what it was given, then ends."""

    def __init__(self, *batches: list[bytes]) -> None:
        self._batches = list(batches)
        self.waits: list[float] = []
        self.closes = 0

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        self.waits.append(timeout_seconds)
        return self._batches.pop(0) if self._batches else None

    def close(self) -> None:
        self.closes += 1


class Leaving:
    """A connection whose client leaves when the test says so."""

    gone = False

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def leave(self) -> None:
        self.gone = True
        for callback in self._callbacks:
            callback()


@pytest.fixture
def app() -> flask.Flask:
    return flask.Flask(__name__)


def test_stream_sends_the_hint_then_frames_and_comments(app: flask.Flask) -> None:
    source = Source([b"event: a\n\n", b"event: b\n\n"], [], [b"event: c\n\n"])
    with app.test_request_context():
        response = stream_response(source, UnwatchedConnection(), keep_alive_seconds=20.0)
    assert list(response.response) == [
        b"retry: 3000\n\n",
        b"event: a\n\nevent: b\n\n",
        b": keep-alive\n\n",
        b"event: c\n\n",
    ]
    assert set(source.waits) == {20.0}
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-cache, no-transform"
    assert response.headers["X-Accel-Buffering"] == "no"


def test_stream_closes_its_source_once_at_the_end(app: flask.Flask) -> None:
    source, connection = Source(), Leaving()
    with app.test_request_context():
        response = stream_response(source, connection)
    list(response.response)
    response.response.close()  # type: ignore[union-attr]
    connection.leave()
    assert source.closes == 1


def test_stream_ends_when_the_client_leaves(app: flask.Flask) -> None:
    source, connection = Source([b"a"], [b"b"]), Leaving()
    with app.test_request_context():
        frames = iter(stream_response(source, connection).response)
    assert [next(frames), next(frames)] == [b"retry: 3000\n\n", b"a"]
    connection.leave()
    assert source.closes == 1
    assert list(frames) == []


def test_stream_takes_no_frames_for_a_head(app: flask.Flask) -> None:
    source = Source([b"a"])
    with app.test_request_context(method="HEAD"):
        stream_response(source, UnwatchedConnection())
    assert (source.closes, source.waits) == (1, [])


def test_connection_without_a_server_never_leaves() -> None:
    connection = connection_of({})
    connection.on_disconnect(lambda: pytest.fail("nobody left"))
    assert not connection.gone

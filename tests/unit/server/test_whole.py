"""Server and application together: what only the two of them show."""

import json
from typing import Any

import flask
import gevent
from gevent.event import Event

from meka.wire.connection import connection_of
from meka.wire.sse import stream_response
from tests.unit.server.rawhttp import Client, request, serving
from tests.unit.wire.fixture import Calls, make_client

AUTH = "Authorization: Bearer writer"


def application() -> Any:
    return make_client(Calls()).application


def test_whole_answers_a_large_body_with_a_problem() -> None:
    with serving(application(), max_body_bytes=100) as server, Client(server.address) as client:
        client.send(
            request("/v1/things", "POST", AUTH, "Content-Type: application/json", "Content-Length: 101")
        )
        answer = client.answer()
    problem = json.loads(answer.body)
    assert (answer.status, answer.headers["content-type"]) == (413, "application/problem+json")
    assert problem["type"] == "https://meka.run/errors/payload-too-large"
    assert (problem["max_body_bytes"], problem["instance"]) == (100, "/v1/things")


def test_whole_reads_a_chunked_body() -> None:
    fields = (AUTH, "Content-Type: application/json", "Transfer-Encoding: chunked")
    body = b'a\r\n{"name": "\r\ne\r\na", "size": 1}\r\n0\r\n\r\n'
    with serving(application()) as server, Client(server.address) as client:
        client.send(request("/v1/things", "POST", *fields, body=body))
        assert client.answer().status == 200


def test_whole_refuses_a_broken_chunk_with_a_400() -> None:
    fields = (AUTH, "Content-Type: application/json", "Transfer-Encoding: chunked")
    with serving(application()) as server, Client(server.address) as client:
        client.send(request("/v1/things", "POST", *fields, body=b"zz\r\n"))
        answer = client.answer()
    assert (answer.status, json.loads(answer.body)["status"], answer.headers["connection"]) == (
        400,
        400,
        "close",
    )


def test_whole_asks_for_the_token_before_the_body() -> None:
    fields = ("Content-Type: application/json", "Content-Length: 5000000", "Expect: 100-continue")
    with serving(application()) as server, Client(server.address) as client:
        client.send(request("/v1/things", "POST", *fields))
        answer = client.answer()
    assert (answer.status, answer.headers["connection"]) == (401, "close")


def test_whole_sends_no_body_for_a_head() -> None:
    with serving(application()) as server, Client(server.address) as client:
        client.send(request("/v1/things", "HEAD", AUTH) + request("/v1/none", "HEAD") + request("/v1/live"))
        assert int(client.answer(head_only=True).headers["content-length"]) > 0
        assert client.answer(head_only=True).status == 404
        assert client.answer().body == b'{"status":"ok"}'


class Feed:
    """A source that waits for nothing to come."""

    def __init__(self) -> None:
        self.waiting, self.closed = Event(), Event()
        self.closes = 0

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        self.waiting.set()
        return None if self.closed.wait(timeout_seconds) else []

    def close(self) -> None:
        self.closes += 1
        self.closed.set()


def streaming(feed: Feed, keep_alive_seconds: float) -> flask.Flask:
    app = flask.Flask(__name__)

    @app.get("/stream")
    def stream() -> flask.Response:
        connection = connection_of(flask.request.environ)
        return stream_response(feed, connection, keep_alive_seconds=keep_alive_seconds)

    return app


def test_whole_wakes_a_waiting_stream_when_its_client_leaves() -> None:
    feed = Feed()
    with serving(streaming(feed, 60.0)) as server:
        client = Client(server.address)
        client.send(request("/stream"))
        assert client.answer(head_only=True).headers["content-type"] == "text/event-stream"
        assert client.chunk() == b"retry: 3000\n\n"
        assert feed.waiting.wait(5)
        client.close()
        assert feed.closed.wait(1.0)
        with gevent.Timeout(1.0):
            while server.open_requests:
                gevent.idle()
        assert feed.closes == 1


def test_whole_keeps_a_silent_stream_alive() -> None:
    feed = Feed()
    with serving(streaming(feed, 0.01)) as server, Client(server.address) as client:
        client.send(request("/stream"))
        client.answer(head_only=True)
        assert [client.chunk() for _ in range(3)] == [
            b"retry: 3000\n\n",
            b": keep-alive\n\n",
            b": keep-alive\n\n",
        ]


def test_whole_ends_streams_when_the_server_closes() -> None:
    feed = Feed()
    with serving(streaming(feed, 60.0)) as server, Client(server.address) as client:
        client.send(request("/stream"))
        client.answer(head_only=True)
        feed.waiting.wait(5)
        assert server.close(0.01) is False
        assert feed.closes == 1

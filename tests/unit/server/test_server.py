"""The server over loopback: what clients see of it, whatever they do."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import pytest
from gevent import socket
from gevent.event import Event

from meka.server import Server
from meka.server.body import MAX_DRAIN_BYTES
from meka.wire.connection import ENVIRON_KEY
from tests.unit.server.rawhttp import WAIT_SECONDS, Answer, Client, echo, request, serving

StartResponse = Callable[..., Any]


def problem(answer: Answer) -> tuple[int, str]:
    """Status and type of a problem; checks that it has the members every problem has."""
    body = json.loads(answer.body)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert {"type", "title", "status", "detail"} == set(body)
    assert body["status"] == answer.status
    return answer.status, body["type"]


def test_server_answers_requests_on_one_connection() -> None:
    with serving(echo) as server, Client(server.address) as client:
        for path in ("/a", "/b"):
            client.send(request(path))
            answer = client.answer()
            assert (answer.status, answer.body) == (200, f"GET {path} 0".encode())
            assert "server" not in answer.headers
            assert "connection" not in answer.headers


def test_server_answers_pipelined_requests_in_order() -> None:
    pipelined = request("/a", "POST", "Content-Length: 3", body=b"abc") + request("/b") + request("/c")
    with serving(echo) as server, Client(server.address) as client:
        client.send(pipelined)
        assert [client.answer().body for _ in "abc"] == [b"POST /a 3", b"GET /b 0", b"GET /c 0"]


def test_server_answers_a_pipelined_request_after_one_whose_body_nobody_read() -> None:
    def ignore(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        return [environ["PATH_INFO"].encode()]

    body = b"a" * 5000
    with serving(ignore) as server, Client(server.address) as client:
        client.send(request("/a", "POST", f"Content-Length: {len(body)}", body=body) + request("/b"))
        assert [client.answer().body, client.answer().body] == [b"/a", b"/b"]


def test_server_closes_after_a_large_body_that_nobody_read() -> None:
    def ignore(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", [])
        return [b"no"]

    with serving(ignore) as server, Client(server.address) as client:
        client.send(request("/", "POST", f"Content-Length: {MAX_DRAIN_BYTES + 1}"))
        assert client.answer().headers["connection"] == "close"
        client.socket.shutdown(socket.SHUT_WR)
        assert client.ended()


def test_server_sends_head_and_body_together() -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(request("/a"))
        assert client.socket.recv(65536).endswith(b"GET /a 0")


def test_server_closes_when_asked_to() -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(request("/", "GET", "Connection: close"))
        assert client.answer().headers["connection"] == "close"
        assert client.ended()


def test_server_speaks_http_1_0() -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert client.answer().headers["connection"] == "keep-alive"
        client.send(b"GET /a HTTP/1.0\r\n\r\n")
        assert client.answer().headers["connection"] == "close"
        assert client.ended()


def test_server_streams_to_http_1_0_until_it_closes() -> None:
    def stream(environ: dict[str, Any], start_response: StartResponse) -> Iterator[bytes]:
        start_response("200 OK", [])
        yield b"a"
        yield b"b"

    with serving(stream) as server, Client(server.address) as client:
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = client.answer(head_only=True)
        assert answer.headers["connection"] == "close"
        assert client.stream.read() == b"ab"


@pytest.mark.parametrize("length", [[("Content-Length", "7")], []])
def test_server_sends_no_body_for_a_head(length: list[tuple[str, str]]) -> None:
    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        start_response("200 OK", length)
        return [b"present"]

    with serving(app) as server, Client(server.address) as client:
        client.send(request("/", "HEAD") + request("/"))
        assert client.answer(head_only=True).headers.get("content-length") == (
            length[0][1] if length else None
        )
        assert client.answer().body == b"present"


def test_server_sends_no_body_for_a_204() -> None:
    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        start_response("204 No Content", [])
        return []

    with serving(app) as server, Client(server.address) as client:
        client.send(request() + request())
        assert [client.answer().status, client.answer().status] == [204, 204]


def test_server_drops_fields_that_would_pass_as_others() -> None:
    seen: dict[str, Any] = {}

    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        seen.update(environ)
        return echo(environ, start_response)

    with serving(app) as server, Client(server.address) as client:
        client.send(
            request("/a%2Fb?c", "GET", "X_Forged: 1", "If-Match: a", "If-Match: b", "Cookie: a", "Cookie: b")
        )
        client.answer()
    assert "HTTP_X_FORGED" not in seen
    assert (seen["HTTP_IF_MATCH"], seen["HTTP_COOKIE"]) == ("a, b", "a; b")
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/a/b", "c")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request("/", "POST", "Content-Length: 3", "Transfer-Encoding: chunked"), 400),
        (request("/", "GET", "X: a", " b"), 400),
        (request("/" + "a" * 9000), 414),
        (request("/", "GET", "X: " + "a" * 40000), 431),
    ],
)
def test_server_refuses_broken_http_and_reads_nothing_behind_it(raw: bytes, status: int) -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(raw + request("/smuggled"))
        answered, kind = problem(client.answer())
        assert answered == status
        assert kind == ("https://meka.run/errors/invalid-body" if status == 400 else "about:blank")
        assert client.ended()


def test_server_gives_up_on_a_head_that_trickles() -> None:
    with serving(echo, head_timeout_seconds=0.3) as server, Client(server.address) as client:
        client.send(b"GET / HTTP/1.1\r\n")
        trickle = gevent.spawn(_trickle, client)
        assert problem(client.answer()) == (408, "about:blank")
        trickle.kill()


def _trickle(client: Client) -> None:
    while True:
        client.send(b"X: a\r\n")
        gevent.sleep(0.05)


def test_server_closes_a_connection_that_never_asks() -> None:
    with serving(echo, head_timeout_seconds=0.1) as server, Client(server.address) as client:
        assert client.ended()


def test_server_closes_a_connection_that_rests_too_long() -> None:
    with serving(echo, idle_timeout_seconds=0.1) as server, Client(server.address) as client:
        client.send(request())
        client.answer()
        assert client.ended()


def test_server_gives_up_on_a_body_that_stalls() -> None:
    with serving(echo, io_timeout_seconds=0.2) as server, Client(server.address) as client:
        client.send(request("/", "POST", "Content-Length: 10", body=b"half"))
        answer = client.answer()
        assert (answer.status, answer.headers["connection"]) == (400, "close")
        assert b"in time" in answer.body


def test_server_waits_for_a_body_that_comes_slowly() -> None:
    with serving(echo, io_timeout_seconds=WAIT_SECONDS) as server, Client(server.address) as client:
        client.send(request("/", "POST", "Content-Length: 3"))
        for byte in (b"a", b"b", b"c"):
            client.send(byte)
            gevent.sleep(0.01)
        assert client.answer().body == b"POST / 3"


def test_server_refuses_a_large_chunked_body_while_it_answers_others() -> None:
    with serving(echo, max_body_bytes=1_000_000) as server, Client(server.address) as client:
        sender = gevent.spawn(_send_chunks, client, 50_000_000)
        with Client(server.address) as other:
            other.send(request("/other"))
            assert other.answer().body == b"GET /other 0"
        answer = client.answer()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        sender.kill()


def _send_chunks(client: Client, total_bytes: int) -> None:
    client.send(request("/", "POST", "Transfer-Encoding: chunked"))
    piece = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    try:
        for _ in range(total_bytes // 65536):
            client.send(piece)
    except OSError:
        return


def test_server_invites_a_body_it_can_take() -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(request("/", "POST", "Content-Length: 3", "Expect: 100-continue"))
        assert client.answer().status == 100
        client.send(b"abc" + request("/next"))
        assert [client.answer().body, client.answer().body] == [b"POST / 3", b"GET /next 0"]


def test_server_invites_no_body_that_is_too_large() -> None:
    with serving(echo, max_body_bytes=2) as server, Client(server.address) as client:
        client.send(request("/", "POST", "Content-Length: 3", "Expect: 100-continue"))
        answer = client.answer()
        assert (answer.status, answer.headers["connection"]) == (413, "close")
        assert client.ended()


def test_server_tells_the_client_nothing_of_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        raise RuntimeError("a secret")

    with caplog.at_level(logging.CRITICAL + 1), serving(app) as server, Client(server.address) as client:
        client.send(request())
        answer = client.answer()
    assert problem(answer) == (500, "https://meka.run/errors/internal")
    assert b"secret" not in answer.body


def test_server_cuts_an_answer_that_fails_midway(caplog: pytest.LogCaptureFixture) -> None:
    def app(environ: dict[str, Any], start_response: StartResponse) -> Iterator[bytes]:
        start_response("200 OK", [])
        yield b"begun"
        raise RuntimeError("a secret")

    with caplog.at_level(logging.CRITICAL + 1), serving(app) as server, Client(server.address) as client:
        client.send(request())
        client.answer(head_only=True)
        assert client.chunk() == b"begun"
        assert client.ended()


class Stream:
    """An answer that begins, and goes on only once the client has left or `proceed` is set."""

    def __init__(self) -> None:
        self.begun, self.left, self.proceed, self.closed = Event(), Event(), Event(), Event()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> "Stream":
        environ[ENVIRON_KEY].on_disconnect(self._leave)
        start_response("200 OK", [])
        return self

    def _leave(self) -> None:
        self.left.set()
        self.proceed.set()

    def __iter__(self) -> Iterator[bytes]:
        self.begun.set()
        yield b"begun"
        self.proceed.wait()
        yield b"done"

    def close(self) -> None:
        self.closed.set()


def test_server_notices_a_client_that_leaves() -> None:
    stream = Stream()
    with serving(stream) as server:
        client = Client(server.address)
        client.send(request())
        client.answer(head_only=True)
        client.close()
        assert stream.left.wait(1.0)
        assert stream.closed.wait(1.0)
        assert server.open_requests == 0


def test_server_notices_a_client_that_left_before_it_was_watched() -> None:
    proceed, left = Event(), Event()

    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        proceed.wait()
        environ[ENVIRON_KEY].on_disconnect(left.set)
        left.wait(WAIT_SECONDS)
        return echo(environ, start_response)

    with serving(app) as server:
        client = Client(server.address)
        client.send(request())
        client.close()
        proceed.set()
        assert left.wait(1.0)


def test_server_does_not_take_a_pipelined_request_for_a_client_that_left() -> None:
    stream = Stream()
    with serving(stream) as server, Client(server.address) as client:
        client.send(request())
        client.answer(head_only=True)
        assert client.chunk() == b"begun"
        client.send(request())
        gevent.idle()
        assert not stream.left.is_set()
        stream.proceed.set()
        assert client.chunk() == b"done"
        assert client.chunk() == b""
        assert client.answer().body == b"begundone"


def test_server_drops_a_reader_that_stopped_reading() -> None:
    closed = Event()

    class Flood:
        def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> "Flood":
            start_response("200 OK", [])
            return self

        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield b"a" * 65536

        def close(self) -> None:
            closed.set()

    with serving(Flood(), io_timeout_seconds=0.2) as server, Client(server.address) as client:
        client.send(request())
        assert closed.wait(WAIT_SECONDS)


def test_server_holds_many_connections() -> None:
    with serving(echo) as server:
        clients = [Client(server.address) for _ in range(100)]
        for _ in range(3):
            for client in clients:
                client.send(request())
            assert {client.answer().body for client in clients} == {b"GET / 0"}
        assert server.open_connections == 100
        for client in clients:
            client.close()


def test_server_that_stops_refuses_connections_and_ends_idle_ones() -> None:
    with serving(echo) as server, Client(server.address) as client:
        client.send(request())
        client.answer()
        server.stop_accepting()
        assert client.ended()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(server.address)


def test_server_that_closes_waits_for_the_answers_under_way() -> None:
    stream = Stream()
    with serving(stream) as server, Client(server.address) as client:
        client.send(request())
        client.answer(head_only=True)
        assert server.open_requests == 1
        closing = gevent.spawn(server.close, WAIT_SECONDS)
        gevent.idle()
        stream.proceed.set()
        assert [client.chunk(), client.chunk(), client.chunk()] == [b"begun", b"done", b""]
        assert client.ended()
        assert closing.get(timeout=WAIT_SECONDS) is True


def test_server_that_closes_hangs_up_after_its_deadline() -> None:
    stream = Stream()
    with serving(stream) as server, Client(server.address) as client:
        client.send(request())
        client.answer(head_only=True)
        assert server.close(0.05) is False
        assert stream.left.is_set()
        assert stream.closed.is_set()
        assert server.open_connections == 0


def test_server_says_close_on_answers_of_a_drain() -> None:
    proceed, asked = Event(), Event()

    def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
        asked.set()
        proceed.wait()
        return echo(environ, start_response)

    with serving(app) as server, Client(server.address) as client:
        client.send(request())
        asked.wait(WAIT_SECONDS)
        server.stop_accepting()
        proceed.set()
        assert client.answer().headers["connection"] == "close"


def test_server_that_cannot_bind_says_so() -> None:
    with serving(echo) as server:
        second = Server(server.address, echo)
        with pytest.raises(OSError, match="in use"):
            second.start()

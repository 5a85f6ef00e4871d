"""A client whose bytes are all there already does not keep the others waiting until they are used up."""

from typing import Any

import gevent
import pytest

from tests.unit.server.rawhttp import Client, echo, request, serving

MANY = 2000
PIPELINED = request("/greedy") * MANY
TINY_CHUNKS = request("/", "POST", "Transfer-Encoding: chunked") + b"1\r\na\r\n" * 400_000 + b"0\r\n\r\n"


def drink(client: Client) -> None:
    while client.socket.recv(1 << 20):
        """Only made room for more."""


@pytest.mark.parametrize("raw", [PIPELINED, TINY_CHUNKS])
def test_greedy_connection_lets_others_be_answered(raw: bytes) -> None:
    finished: list[str] = []

    def app(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        answered = echo(environ, start_response)
        finished.append(environ["PATH_INFO"])
        return answered

    with serving(app) as server, Client(server.address) as greedy, Client(server.address) as other:
        sending = gevent.spawn(greedy.send, raw)
        reading = gevent.spawn(drink, greedy)
        for _ in range(3):
            gevent.sleep(0.001)
            other.send(request("/other"))
            assert other.answer().status == 200
        greedy_answers = len(finished) - finished.count("/other")
        gevent.killall([sending, reading])
    assert greedy_answers < (MANY if raw is PIPELINED else 1)


def test_long_answer_lets_others_be_answered() -> None:
    written: list[int] = []

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["PATH_INFO"] == "/other":
            return echo(environ, start_response)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return (written.append(number) or b"x" * 8192 for number in range(MANY))

    with serving(app) as server, Client(server.address) as greedy, Client(server.address) as other:
        greedy.send(request("/greedy"))
        reading = gevent.spawn(drink, greedy)
        while not written:
            gevent.sleep(0.0001)
        other.send(request("/other"))
        assert other.answer().status == 200
        assert len(written) < MANY
        reading.kill()

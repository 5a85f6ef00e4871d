"""The bench's client reads chunked streams of events, however they are cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gevent
import pytest
from gevent.server import StreamServer

from tools.bench.client import BenchError, Connection
from tools.bench.rig import floor_events

ANSWER = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"d\r\nretry: 3000\n\n\r\n11\r\nevent: a\ndata: 1\n\r\n13\r\n\nevent: b\ndata: 2\n\n\r\n0\r\n\r\n"
)


@contextmanager
def serving(answer: bytes) -> Iterator[int]:
    def serve(connection: Any, _address: object) -> None:
        connection.recv(65536)
        for byte in answer:
            connection.sendall(bytes([byte]))
            gevent.sleep(0)

    server = StreamServer(("127.0.0.1", 0), serve)
    server.start()
    yield server.server_port
    server.stop()


def test_events_are_whole_however_their_bytes_are_cut() -> None:
    with serving(ANSWER) as port, Connection(port) as connection:
        events = list(floor_events(connection, "anything"))

    assert [(event.name, event.json()) for event in events] == [("a", 1), ("b", 2)]


def test_an_answer_that_breaks_off_is_an_error() -> None:
    with serving(ANSWER[:60]) as port, Connection(port) as connection, pytest.raises(BenchError):
        connection.call("GET", "/")


def test_id_of_an_event_is_told_where_it_has_one() -> None:
    data = b"event: a\nid: 7\ndata: 1\n\nevent: b\ndata: 2\n\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with (
        serving(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)) as port,
        Connection(port) as connection,
    ):
        assert [event.id for event in connection.stream("/")] == [7, None]

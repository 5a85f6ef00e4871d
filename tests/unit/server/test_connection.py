"""The watch on a client, and what accepted sockets inherit."""

import logging
from collections.abc import Iterator

import gevent
import pytest
from gevent import socket
from gevent.event import Event

from meka.server.connection import WatchedConnection
from meka.server.server import Listener

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_connection_tells_everyone_once_when_the_client_leaves(pair: Pair) -> None:
    ours, theirs = pair
    connection, told, done = WatchedConnection(ours), [], Event()
    connection.on_disconnect(lambda: told.append("first"))
    connection.on_disconnect(done.set)
    theirs.close()
    assert done.wait(1.0)
    assert connection.gone
    connection.on_disconnect(lambda: told.append("late"))
    gevent.idle()
    assert told == ["first", "late"]
    connection.release()


def fail() -> None:
    raise RuntimeError


def test_connection_tells_the_others_when_a_callback_fails(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = pair
    connection, done = WatchedConnection(ours), Event()
    connection.on_disconnect(fail)
    connection.on_disconnect(done.set)
    with caplog.at_level(logging.ERROR):
        theirs.close()
        assert done.wait(1.0)
    assert "a disconnect callback failed" in caplog.text
    connection.release()


def test_connection_stops_looking_at_bytes_that_wait(pair: Pair) -> None:
    ours, theirs = pair
    connection, told = WatchedConnection(ours), Event()
    connection.on_disconnect(told.set)
    theirs.sendall(b"next")
    gevent.idle()
    theirs.close()
    gevent.idle()
    assert not told.is_set()
    assert ours.recv(10) == b"next"
    connection.release()


def test_connection_tells_nobody_once_it_is_released(pair: Pair) -> None:
    ours, theirs = pair
    connection, told = WatchedConnection(ours), Event()
    connection.on_disconnect(told.set)
    connection.release()
    connection.on_disconnect(told.set)
    theirs.close()
    gevent.idle()
    assert not told.is_set()


def test_accepted_sockets_send_at_once_and_probe_silent_peers() -> None:
    with (
        Listener.get_listener(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

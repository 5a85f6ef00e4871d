"""The client's end of a request, watched without a greenlet: a libev watcher tells when the peer closed."""

import logging
import socket
from collections.abc import Callable
from typing import Any

import gevent

logger = logging.getLogger(__name__)

_READABLE = 1


class WatchedConnection:
    """`meka.wire.connection.Connection` over a socket.

    A client that closes its sending side counts as gone. Bytes that wait (a pipelined request) end the watch:
    such a client is seen to leave only when a send to it fails.
    """

    __slots__ = ("_callbacks", "_gone", "_released", "_socket", "_watcher")

    def __init__(self, sock: Any) -> None:
        self._socket = sock
        self._callbacks: list[Callable[[], None]] = []
        self._watcher: Any = None
        self._gone = False
        self._released = False

    @property
    def gone(self) -> bool:
        """Whether the client was seen to leave."""
        return self._gone

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Have `callback` run once, in the hub, when the client leaves; at once when it has left already."""
        if self._gone:
            callback()
            return
        if self._released:
            return
        self._callbacks.append(callback)
        if self._watcher is None:
            self._watcher = gevent.get_hub().loop.io(self._socket.fileno(), _READABLE)
            self._watcher.start(self._look)

    def release(self) -> None:
        """Stop watching; must happen before the descriptor closes."""
        self._released = True
        self._callbacks.clear()
        self._stop()

    def _look(self) -> None:
        try:
            waiting = self._socket._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            waiting = b""
        self._stop()
        if not waiting:
            self._leave()

    def _stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None

    def _leave(self) -> None:
        self._gone = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("a disconnect callback failed")

"""The HTTP server: it listens, counts what is open, and is brought down in steps (stop, wait, close)."""

import errno
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gevent
import gevent.socket
from gevent.event import Event
from gevent.pywsgi import WSGIServer

from meka.server.handler import RequestHandler
from meka.server.limits import raise_descriptor_limit
from meka.server.settings import ServerSettings

logger = logging.getLogger(__name__)

WsgiApplication = Callable[..., Any]
Grant = Callable[[str | None], Sequence[tuple[str, str]]]
"""The headers that share an answer with a page of an origin."""

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# Keep-alive probes find a peer that vanished without a word: a held turn sends nothing that would.
_SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)
_ACCEPT_PAUSE_SECONDS = 0.5
_HANG_UP_WAIT_SECONDS = 1.0


class Listener(WSGIServer):  # type: ignore[misc]
    """The listening socket and its connections."""

    handler_class = RequestHandler
    backlog = 1024

    def __init__(
        self,
        bind: str | tuple[str, int],
        application: WsgiApplication,
        settings: ServerSettings,
        grant: Grant | None,
    ) -> None:
        # A given SERVER_NAME keeps pywsgi from a look-up of the host's name.
        super().__init__(bind, application, log=None, error_log=None, environ={"SERVER_NAME": "meka"})
        self.settings = settings
        self.grant = grant
        self.connections: set[RequestHandler] = set()
        self.bound_address: tuple[str, int] = ("", 0)
        self.draining = False
        self.open_requests = 0
        self.quiet = Event()
        self.quiet.set()
        self._out_of_descriptors = False

    @classmethod
    def get_listener(cls, address: Any, backlog: int | None = None, family: int | None = None) -> Any:
        """A listening socket; the connections it accepts inherit its options."""
        listener = gevent.socket.socket(family=family or socket.AF_INET)
        try:
            for level, option, value in _SOCKET_OPTIONS:
                listener.setsockopt(level, option, value)
            listener.bind(address)
            listener.listen(backlog or cls.backlog)
        except OSError:
            listener.close()
            raise
        return listener

    def init_socket(self) -> None:
        super().init_socket()
        self.bound_address = self.socket.getsockname()[:2]

    @contextmanager
    def open_request(self) -> Iterator[None]:
        """Count a request from its head to the end of its answer."""
        self.open_requests += 1
        self.quiet.clear()
        try:
            yield
        finally:
            self.open_requests -= 1
            if not self.open_requests:
                self.quiet.set()

    def do_read(self) -> Any:
        """Accept one connection; without a descriptor for it, rest a while before the next try."""
        try:
            accepted = super().do_read()
        except OSError as error:
            if error.errno == errno.ECONNABORTED:
                return None
            if error.errno not in _EXHAUSTED:
                raise
            self._rest(error)
            return None
        if accepted:
            self._out_of_descriptors = False
        return accepted

    def _rest(self, error: OSError) -> None:
        if not self._out_of_descriptors:
            logger.warning("cannot accept connections: %s", error.strerror)
        self._out_of_descriptors = True
        self.stop_accepting()
        self._timer = self.loop.timer(_ACCEPT_PAUSE_SECONDS)
        self._timer.start(self._start_accepting_if_started)


class Server:
    """Serves a WSGI application over HTTP/1.1.

    `grant` is put on the answers that the application does not make (a head that is refused, say); None where
    pages of other origins are granted nothing.
    To bring it down: `stop_accepting()`, end what holds answers open, then `close(deadline_seconds)`.
    """

    def __init__(
        self,
        bind: str | tuple[str, int],
        app: WsgiApplication,
        settings: ServerSettings | None = None,
        grant: Grant | None = None,
    ) -> None:
        self._listener = Listener(bind, app, settings or ServerSettings(), grant)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port as bound (port 0 in `bind` picks a free one)."""
        return self._listener.bound_address

    @property
    def open_requests(self) -> int:
        """How many requests are being answered."""
        return self._listener.open_requests

    @property
    def open_connections(self) -> int:
        """How many connections there are, idle ones included."""
        return len(self._listener.connections)

    def start(self) -> None:
        """Listen and answer. Raises: `OSError` when the address cannot be bound."""
        raise_descriptor_limit()
        self._listener.start()

    def stop_accepting(self) -> None:
        """Close the listening socket and the idle connections; each open answer ends its connection."""
        self._listener.draining = True
        self._listener.close()
        for connection in list(self._listener.connections):
            if connection.idle:
                connection.hang_up()

    def close(self, deadline_seconds: float = 0.0) -> bool:
        """Wait so long for the open answers, then hang up; whether all of them ended by themselves."""
        self.stop_accepting()
        finished = bool(self._listener.quiet.wait(deadline_seconds))
        for connection in list(self._listener.connections):
            connection.hang_up()
        with gevent.Timeout(_HANG_UP_WAIT_SECONDS, False):
            self._listener.quiet.wait()
        return finished

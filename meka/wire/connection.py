"""What an application may know of its client's connection; the server puts it into the WSGI environment."""

from collections.abc import Callable, Mapping
from typing import Protocol

ENVIRON_KEY = "meka.connection"


class Connection(Protocol):
    """The client's end of one request."""

    @property
    def gone(self) -> bool:
        """Whether the client was seen to leave."""

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Have `callback` run once when the client leaves, at once when it has left already.

        It runs in the hub, so it must not block. Nothing runs once the answer is complete.
        """


class UnwatchedConnection:
    """A connection nobody watches: a call of the application without the server, as tests make it."""

    gone = False

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Never calls: nobody can leave."""


def connection_of(environ: Mapping[str, object]) -> Connection:
    """The connection of the request that `environ` describes."""
    connection = environ.get(ENVIRON_KEY)
    return UnwatchedConnection() if connection is None else connection  # type: ignore[return-value]

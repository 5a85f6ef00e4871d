"""A connection's fair share of the hub's thread: who reads what has arrived already never lets others run."""

import gevent

_READS_AT_ONCE = 16
_WRITTEN_AT_ONCE_BYTES = 65536
# Not 0: that comes back before the loop has looked for what arrived on other sockets.
_MOMENT_SECONDS = 1e-6


class FairShare:
    """Counts what a connection does in one go, and makes it wait for its next turn."""

    __slots__ = ("_iteration", "_loop", "_reads", "_written")

    def __init__(self) -> None:
        self._loop = gevent.get_hub().loop
        self._iteration = -1
        self._reads = self._written = 0

    def take_read(self) -> None:
        """Ask before each read of a body: after so many, the others come first."""
        self._reads += 1
        if self._reads % _READS_AT_ONCE == 0:
            self._let_others()

    def take_write(self, size_bytes: int) -> None:
        """Ask before each piece of an answer: a socket with room for it all never makes its writer wait."""
        self._written += size_bytes
        if self._written > _WRITTEN_AT_ONCE_BYTES:
            self._written = 0
            self._let_others()

    def take_request(self) -> None:
        """Ask before each request: where the one before it never waited, the others come first."""
        self._let_others()

    def _let_others(self) -> None:
        # Whoever had to wait meanwhile has let them run: the loop went round.
        if self._loop.iteration == self._iteration:
            gevent.sleep(_MOMENT_SECONDS)
        self._iteration = self._loop.iteration

"""The streams that tokens hold, ended when their token is removed or loses a scope that they need."""

from collections.abc import Callable, Collection
from typing import Protocol

ScopesOf = Callable[[str], frozenset[str] | None]


class Source(Protocol):
    """Where a stream's frames come from."""

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """Frames; [] when none came in time, None at the end."""

    def close(self) -> None:
        """Leave, and end a `next_frames` that waits."""


class HeldStream:
    """A stream while its token may hold it."""

    def __init__(
        self, source: Source, fingerprint: str, needs: frozenset[str], leave: Callable[["HeldStream"], None]
    ) -> None:
        self.fingerprint = fingerprint
        self.needs = needs
        self._source = source
        self._leave = leave
        self._closed = False

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """What comes next; nothing more once the stream was ended."""
        if self._closed:
            return None
        frames = self._source.next_frames(timeout_seconds)
        return None if self._closed else frames

    def close(self) -> None:
        """Leave the source, once."""
        if not self._closed:
            self._closed = True
            self._leave(self)
            self._source.close()


class HeldStreams:
    """Every stream that is open. `scopes_of` answers what a token holds now, None when it is not accepted."""

    def __init__(self) -> None:
        self._open: set[HeldStream] = set()
        self.scopes_of: ScopesOf | None = None

    def hold(self, source: Source, fingerprint: str, needs: Collection[str]) -> HeldStream:
        """`source` for the token it was opened with, for as long as the token holds `needs`."""
        stream = HeldStream(source, fingerprint, frozenset(needs), self._open.discard)
        self._open.add(stream)
        if not self._is_admitted(stream):
            # The tokens changed while it was being opened.
            stream.close()
        return stream

    def end_refused(self) -> None:
        """End what no longer may be held."""
        for stream in tuple(self._open):
            if not self._is_admitted(stream):
                stream.close()

    def _is_admitted(self, stream: HeldStream) -> bool:
        if self.scopes_of is None:
            return True
        scopes = self.scopes_of(stream.fingerprint)
        return scopes is not None and stream.needs <= scopes

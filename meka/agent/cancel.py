"""One cancel a turn: checked at boundaries, waited on beside whatever the turn waits for."""

from collections.abc import Sequence
from typing import Any

import gevent
from gevent.event import Event


class CanceledError(Exception):
    """Raised at a boundary of a turn that was told to stop."""


class Cancel:
    """A request to stop, with its reason (`client`, `server_shutdown`, `sse_lag`, `abandoned`, `parent`)."""

    __slots__ = ("_event", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._event = Event()

    def request(self, reason: str) -> None:
        """Ask for the stop; the first reason stands."""
        if self.reason is None:
            self.reason = reason
            self._event.set()

    @property
    def requested(self) -> bool:
        """Whether the stop was asked for."""
        return self.reason is not None

    def check(self) -> None:
        """Raises: CanceledError when the stop was asked for."""
        if self.reason is not None:
            raise CanceledError(self.reason)

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; True as soon as the stop is asked for."""
        return bool(self._event.wait(seconds))

    def wait_beside(self, waitables: Sequence[Any], seconds: float | None = None) -> None:
        """Wait until one of `waitables` (greenlets, events) is ready, the stop is asked for or time is up."""
        gevent.wait([self._event, *waitables], count=1, timeout=seconds)

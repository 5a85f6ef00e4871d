"""Time, as something that is handed over: the system's, or a test's."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the rest of the program knows of time."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never run backwards, for measuring spans."""

    def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""


class SystemClock:
    """The machine's own clock (under gevent its sleep yields to the hub)."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def rfc3339(moment: datetime) -> str:
    """`moment` as every answer and event writes it: UTC, microseconds only where there are any, `Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_rfc3339(text: str) -> datetime:
    """The moment that `rfc3339` wrote. Raises: ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a moment without an offset")
    return moment.astimezone(UTC)

"""One of the others: asks again and again, in a process of its own, and says how long each answer took.

`python -m tools.bench.watcher PORT TOKEN` asks until its standard input ends, then prints its waits. It is a
process of its own, so that what is measured is the server, not the interpreter of whoever is hostile.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import gevent
from gevent.os import tp_read

from tools.bench.client import Connection

ROOT = Path(__file__).parents[2]
_PAUSE_SECONDS = 0.005
_PATH = "/v1/sessions?limit=1"


@dataclass(slots=True)
class Watched:
    """What the watcher saw, once the block is left: when it asked, and how long it waited."""

    asked: list[tuple[float, float]] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        """The middle one of the waits in milliseconds, as somebody meets them who asks every five."""
        return self.median_ms_between(0.0, float("inf"))

    def median_ms_between(self, begin: float, end: float) -> float:
        """The same for a part of the watch, told by `time.monotonic`."""
        waits = [wait for moment, wait in self.asked if moment + wait >= begin and moment <= end]
        return median(spread(waits)) * 1000

    @property
    def longest_ms(self) -> float:
        """The longest wait, in milliseconds."""
        return max(wait for _, wait in self.asked) * 1000


def spread(seconds: Iterable[float]) -> list[float]:
    """The waits of all who would have asked meanwhile: one stall of two seconds is not one slow answer."""
    return [
        wait - step * _PAUSE_SECONDS for wait in seconds for step in range(1 + int(wait / _PAUSE_SECONDS))
    ]


@contextmanager
def others_watched(port: int, token: str) -> Iterator[Watched]:
    """Have another client ask all through the block; it has had its first answer when the block begins."""
    command = [sys.executable, "-m", "tools.bench.watcher", str(port), token]
    child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    watched = Watched()
    try:
        child.stdout.readline()  # type: ignore[union-attr]
        yield watched
        told, _ = child.communicate(timeout=120)
        watched.asked.extend(map(tuple, json.loads(told)))
    finally:
        child.kill()
        child.communicate()


def watch(connection: Connection) -> list[tuple[float, float]]:
    """Ask until standard input ends, and wait for the answer that is due then."""
    ended = gevent.spawn(tp_read, 0, 1)
    asked: list[tuple[float, float]] = []
    while not ended.ready() or not asked:
        started = time.monotonic()
        connection.call("GET", _PATH)
        asked.append((started, time.monotonic() - started))
        gevent.sleep(_PAUSE_SECONDS)
    return asked


def main() -> None:
    """The child's whole life."""
    with Connection(int(sys.argv[1]), sys.argv[2]) as connection:
        connection.call("GET", _PATH)
        print("asking", flush=True)
        print(json.dumps(watch(connection)), flush=True)


if __name__ == "__main__":
    main()

"""Holds a server to answering everybody else, whatever one client does to it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.serving import TOKEN, Client
from tools.bench.watcher import others_watched as watched_by_a_process

MEDIAN_MS = 50.0
_TIMES_IDLE = 20.0
_IDLE_SECONDS = 0.5


def port_of(client: Client) -> int:
    """Where a client's server listens."""
    return int(client.base_url.rpartition(":")[2])


def check_median(client: Client, median_ms: float) -> None:
    """No more than 50 ms, or than a multiple of what an idle server takes where the machine is that slow."""
    if median_ms < MEDIAN_MS:
        return
    with watched_by_a_process(port_of(client), TOKEN) as idle:
        time.sleep(_IDLE_SECONDS)
    assert median_ms < _TIMES_IDLE * idle.median_ms


@contextmanager
def others_watched(client: Client, what: str) -> Iterator[None]:
    """Meanwhile a process of its own asks, again and again; its median wait is printed and bounded."""
    with watched_by_a_process(port_of(client), TOKEN) as watched:
        yield
    print(f"{what}: median {watched.median_ms:.1f} ms, longest {watched.longest_ms:.0f} ms")
    check_median(client, watched.median_ms)

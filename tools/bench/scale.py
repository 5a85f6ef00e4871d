"""What a large store costs beside a small one: pages, opened sessions, start-up, searches, memory."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar
from urllib.parse import quote

import gevent
from gevent.event import Event

from meka.config.places import STORE_FILE
from tools.bench.client import BenchError, Connection
from tools.bench.lag import probe
from tools.bench.memory import settled_bytes
from tools.bench.report import Result
from tools.bench.rig import Process, prepare, running_provider, running_server, turn_events
from tools.bench.start import time_start
from tools.bench.stores import SESSION_MESSAGES, fill_store, word_of

SMALL_SESSIONS = 100
QUERIES_A_CLASS = 25
START_ROUNDS = 3
_SAMPLES = SMALL_SESSIONS // 2
_PAGE = "/v1/sessions?limit=50"
_RARE_RANKS = range(10_000, 11_000, 1000 // QUERIES_A_CLASS)
_MIDDLING_RANKS = range(900, 2900, 2000 // QUERIES_A_CLASS)
_LETTERS = "bdfghjklmnprstvz"


T = TypeVar("T")
_Place = tuple[Path, int]
"""Where an installation is, and its provider's port."""


@dataclass(frozen=True, slots=True)
class _Store:
    """A server on a store that was filled; `session_ids` are a hundred, from all over it."""

    server: Process
    connection: Connection
    session_ids: list[str]


def measure_scale(home: Path, sessions: int) -> Iterator[Result]:
    """A store of `sessions` beside one of 100, each served by a server of its own."""
    with running_provider() as provider:
        small, large = ((home / name, provider.port) for name in ("small", "large"))
        small_ids = _fill(*small, SMALL_SESSIONS)
        began = time.perf_counter()
        large_ids = _fill(*large, sessions)
        what = f"{sessions} sessions, {sessions * SESSION_MESSAGES} messages"
        yield Result(f"writing a store of {what}", time.perf_counter() - began, "s")
        yield _measure_start(large, small)
        with _serving(*small, small_ids) as beside, _serving(*large, large_ids) as store:
            yield from _measure_opening(store, beside)
            yield from _measure_searches(store)
            resident = settled_bytes(store.server) / 1e6
            yield Result(f"resident memory after that, {what}", resident, "MB", target=200)


def queries() -> Mapping[str, Sequence[str]]:
    """The fixed set: 25 of each class; words of two letters at most are none that anybody said."""
    return {
        "rare words": [word_of(rank) for rank in _RARE_RANKS],
        "middling words": [word_of(rank) for rank in _MIDDLING_RANKS],
        "common words": [_common(number) for number in range(QUERIES_A_CLASS)],
        "wide prefixes": [
            *_LETTERS,
            *(letter + "a" for letter in _LETTERS[: QUERIES_A_CLASS - len(_LETTERS)]),
        ],
    }


def _common(number: int) -> str:
    """One of the commonest words; every other time beside another one."""
    return word_of(number) if number % 2 else f"{word_of(number)} {word_of(number + 1)}"


def _fill(home: Path, provider_port: int, sessions: int) -> list[str]:
    prepare(home, provider_port)
    return fill_store(home / "data" / STORE_FILE, sessions, home / "work")


@contextmanager
def _serving(home: Path, provider_port: int, session_ids: Sequence[str]) -> Iterator[_Store]:
    with running_server(home, provider_port) as server, server.connect() as connection:
        yield _Store(server, connection, list(session_ids[:: len(session_ids) // SMALL_SESSIONS]))


def _measure_start(large: _Place, small: _Place) -> Result:
    """Beside it, as the floor, the same on the small store."""

    def start(place: _Place) -> float:
        home, provider_port = place
        return time_start(home, prepare(home, provider_port))

    took, floor = _beside(start, large, small, START_ROUNDS)
    return Result("from start to the first healthy answer, large store", took, "s", floor, target=1.5)


def _measure_opening(large: _Store, small: _Store) -> Iterator[Result]:
    """Each beside the same on the small store, taken in turns."""
    for name, act in (
        ("a page of the listing", _list),
        ("messages of a session", _read),
        ("a turn in a session that was not loaded", _take_turn),
    ):
        took, floor = _beside(partial(_time, act), large, small, _SAMPLES - 1)
        what = f"{name}, large store beside small"
        yield Result(what, took * 1000, "ms", floor * 1000, target=1.5, bounds_ratio=True)


def _beside(seconds_on: Callable[[T], float], large: T, small: T, samples: int) -> tuple[float, float]:
    """Median seconds on both, taken in turns, each first every other time; a pair before warms up."""
    took: list[float] = []
    floors: list[float] = []
    for number in range(samples + 1):
        pair = [(took, large), (floors, small)]
        for seconds, store in pair if number % 2 else reversed(pair):
            seconds.append(seconds_on(store))
    return median(took[1:]), median(floors[1:])


def _time(act: Callable[[_Store], None], store: _Store) -> float:
    began = time.perf_counter()
    act(store)
    return time.perf_counter() - began


def _list(store: _Store) -> None:
    store.connection.call("GET", _PAGE)


def _read(store: _Store) -> None:
    """Another session each time."""
    session_id = store.session_ids[0]
    store.session_ids.append(store.session_ids.pop(0))
    answer = store.connection.call("GET", f"/v1/sessions/{session_id}/messages")
    if answer["total"] != SESSION_MESSAGES:
        raise BenchError(f"{answer['total']} of {SESSION_MESSAGES} messages")


def _take_turn(store: _Store) -> None:
    *_, last = turn_events(store.connection, store.session_ids.pop(), "short")
    if last.name != "turn.finished":
        raise BenchError(f"a turn ended with {last.name}")


def _measure_searches(store: _Store) -> Iterator[Result]:
    """The fixed set, one after the other, while somebody asks for the server's health."""
    done = Event()
    watch = gevent.spawn(probe, store.server, lambda _: done.is_set())
    took = {name: [_search(store, query) for query in asked] for name, asked in queries().items()}
    done.set()
    for name in ("rare words", "middling words"):
        yield Result(
            f"search for {name}, median of {len(took[name])}", median(took[name]) * 1000, "ms", target=100
        )
    for name in ("common words", "wide prefixes"):
        slow = quantiles(took[name], n=20)[-1]
        yield Result(f"search for {name}, p95 of {len(took[name])}", slow, "s", target=3)
    yield Result("health meanwhile, median", median(watch.get()) * 1000, "ms", target=50)


def _search(store: _Store, query: str) -> float:
    began = time.perf_counter()
    found = store.connection.call("GET", f"/v1/sessions/search?q={quote(query)}")
    seconds = time.perf_counter() - began
    if not found["sessions"]:
        raise BenchError(f"{query!r} was not found")
    return seconds

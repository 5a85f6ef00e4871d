"""How long the server keeps others waiting while tools search a large tree: seen from outside, at 100/s."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles

import gevent

from tools.bench.client import BenchError, Connection
from tools.bench.report import Result
from tools.bench.rig import Process, Rig, new_session, turn_events

SEARCHERS = 2
FILES_A_DIRECTORY = 200
PROBES_A_SECOND = 100
_TEXT = "nothing that the pattern would find stands in this line\n" * 4


def measure_lag(rig: Rig, files: int, probes: int) -> list[Result]:
    """The slowest percent of health answers while two sessions search; beside it, the machine's."""
    make_tree(rig.work / "tree", files)
    watched = [
        gevent.spawn(probe, process, lambda waits: len(waits) == probes)
        for process in (rig.server, rig.provider)
    ]
    searching = [gevent.spawn(_search, rig, watched) for _ in range(SEARCHERS)]
    gevent.joinall([*watched, *searching], raise_error=True)
    waits, floor = (each.value for each in watched)
    return [
        Result(f"p99 of health while {files} files are searched", _p99(waits), "ms", _p99(floor), target=20),
        Result("its median", _percentile(waits, 50), "ms", _percentile(floor, 50)),
    ]


def make_tree(root: Path, files: int) -> None:
    """`files` small files, 200 a directory."""
    for number in range(files):
        directory = root / f"d{number // FILES_A_DIRECTORY}"
        if number % FILES_A_DIRECTORY == 0:
            directory.mkdir(parents=True)
        (directory / f"f{number}.txt").write_text(_TEXT)


def _search(rig: Rig, watched: Sequence[gevent.Greenlet]) -> None:
    """One search after the other, for as long as somebody watches."""
    with rig.server.connect() as connection:
        session = new_session(connection, working_directory=str(rig.work))
        while not all(each.ready() for each in watched):
            events = list(turn_events(connection, session, "search zebra[0-9]+"))
            (done,) = (event for event in events if event.name == "tool_call.completed")
            if done.json()["is_error"]:
                raise BenchError(f"the search failed: {done.data[:300]!r}")


def probe(process: Process, is_over: Callable[[Sequence[float]], bool]) -> list[float]:
    """Seconds of each probe; one is due every hundredth of a second; a late one began on time.

    `is_over` is asked after each, with what there is so far.
    """
    waits: list[float] = []
    with process.connect() as connection:
        _live(connection)
        due = time.perf_counter()
        while not is_over(waits):
            gevent.sleep(max(0.0, due - time.perf_counter()))
            _live(connection)
            waits.append(time.perf_counter() - due)
            due = max(due, time.perf_counter()) + 1 / PROBES_A_SECOND
    return waits


def _live(connection: Connection) -> None:
    connection.call("GET", "/v1/health/live")


def _p99(waits: list[float]) -> float:
    return _percentile(waits, 99)


def _percentile(waits: list[float], percent: int) -> float:
    return quantiles(waits, n=100)[percent - 1] * 1000

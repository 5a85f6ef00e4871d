"""How many short turns a second pass, and what each costs the server."""

import time

import gevent

from tools.bench.client import BenchError
from tools.bench.report import Result
from tools.bench.rig import Rig, new_session, turn_events

SESSIONS = 32


def measure_throughput(rig: Rig, turns: int) -> list[Result]:
    """`turns` short turns in each of 32 sessions, all at once."""
    _run(rig, 1)
    spent, began = rig.server.cpu_seconds(), time.perf_counter()
    _run(rig, turns)
    seconds, spent = time.perf_counter() - began, rig.server.cpu_seconds() - spent
    count = SESSIONS * turns
    return [
        Result(f"short turns over {SESSIONS} sessions", count / seconds, "turns/s", target=60, least=True),
        Result("server CPU a short turn", spent / count * 1000, "ms"),
    ]


def _run(rig: Rig, turns: int) -> None:
    gevent.joinall([gevent.spawn(_take_turns, rig, turns) for _ in range(SESSIONS)], raise_error=True)


def _take_turns(rig: Rig, turns: int) -> None:
    with rig.server.connect() as connection:
        session = new_session(connection)
        for _ in range(turns):
            *_, last = turn_events(connection, session, "short")
            if last.name != "turn.finished":
                raise BenchError(f"a turn ended with {last.name}")

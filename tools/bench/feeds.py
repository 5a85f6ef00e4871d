"""What a session's feed costs with a crowd on it: the delay of its events, its weight, a return of all."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

import gevent

from tools.bench.client import BenchError, Connection, Event
from tools.bench.crowd import crowd
from tools.bench.memory import settled_bytes
from tools.bench.report import Result
from tools.bench.rig import DELTA, Rig, new_session, turn_events

TIMED = 50
EVENTS_A_SECOND = 30
BYSTANDERS, STALLED = 150, 20
MISSED_EVENTS = 100
_FILL_BURSTS, _BURST = 8, 2000


def measure_fan_out(rig: Rig, readers: int, ticks: int) -> list[Result]:
    """The delay of a delta, and the weight of a reader while events come, over one session's readers."""
    session = _begun_session(rig)
    before = settled_bytes(rig.server)
    with crowd(rig.server.port, _path(session), readers - TIMED), _timed(rig, session) as delays:
        spent, began = rig.server.cpu_seconds(), time.perf_counter()
        _tick(rig, session, ticks)
        seconds = time.perf_counter() - began
        busy = (rig.server.cpu_seconds() - spent) / seconds
        added = (rig.server.resident_bytes() - before) / readers / 1000
    what = f"{readers} readers, {EVENTS_A_SECOND} events/s"
    return [
        Result(f"delay of an event, {what}", median(delays) * 1000, "ms", target=60),
        Result(f"a reader's weight, {what}", added, "KB", target=30),
        Result(f"server CPU, {what}", busy * 100, "%"),
    ]


def measure_stalled(rig: Rig, ticks: int) -> list[Result]:
    """The delay of an event beside readers that never read, and, as the floor, without them."""
    with_stalled, without = (_delay(rig, stalled, ticks) for stalled in (STALLED, 0))
    what = f"delay of an event, {TIMED + BYSTANDERS} readers, {STALLED} more stalled"
    return [Result(what, with_stalled * 1000, "ms", without * 1000, target=1.5, bounds_ratio=True)]


def measure_reconnects(rig: Rig, readers: int) -> list[Result]:
    """All come back at once, each for the events it missed: until the last one has them."""
    session = _begun_session(rig)
    with rig.server.connect() as connection:
        *_, last = turn_events(connection, session, f"deltas {2 * MISSED_EVENTS}")
    began = time.perf_counter()
    returning = [gevent.spawn(_return, rig, session, last.id or 0) for _ in range(readers)]
    gevent.joinall(returning, raise_error=True)
    seconds = time.perf_counter() - began
    what = f"{readers} readers come back for {MISSED_EVENTS} events each"
    return [Result(what, seconds, "s", target=2)]


def _return(rig: Rig, session: str, last: int) -> None:
    """Read what was missed, to the last of it."""
    with rig.server.connect() as connection:
        events = connection.stream(_path(session), last_event_id=last - MISSED_EVENTS)
        ids = [event.id for event in _until(events, last)]
    if ids != list(range(last - MISSED_EVENTS + 1, last + 1)):
        raise BenchError(f"a reader that came back was given {len(ids)} of {MISSED_EVENTS} events")


def _until(events: Iterator[Event], last: int) -> Iterator[Event]:
    for event in events:
        yield event
        if event.id == last:
            return


def _delay(rig: Rig, stalled: int, ticks: int) -> float:
    """Median seconds from the provider's send to a reader's receipt; what is stalled is so before."""
    session = _begun_session(rig)
    with ExitStack() as stack:
        stack.enter_context(crowd(rig.server.port, _path(session), BYSTANDERS, stalled))
        with rig.server.connect() as connection:
            for _ in range(_FILL_BURSTS):
                *_, _ = turn_events(connection, session, f"burst {_BURST}")
        delays = stack.enter_context(_timed(rig, session))
        _tick(rig, session, ticks)
        return median(delays)


@contextmanager
def _timed(rig: Rig, session: str) -> Iterator[list[float]]:
    """The delays, in seconds, that the timed readers see while the block runs."""
    delays: list[float] = []
    connections = [rig.server.connect() for _ in range(TIMED)]
    readers = [gevent.spawn(_time_deltas, each, session, delays) for each in connections]
    try:
        yield delays
    finally:
        gevent.killall(readers)
        for connection in connections:
            connection.close()


def _time_deltas(connection: Connection, session: str, delays: list[float]) -> None:
    for event in connection.stream(_path(session)):
        if event.name == DELTA:
            words = str(event.json()["text"])
            if words.startswith("at "):
                delays.append((time.monotonic_ns() - int(words.rpartition(" ")[2])) / 1e9)


def _tick(rig: Rig, session: str, ticks: int) -> None:
    """A turn whose deltas come at the rate that is measured."""
    with rig.server.connect() as connection:
        *_, last = turn_events(connection, session, f"ticks {ticks} {EVENTS_A_SECOND}")
    if last.name != "turn.finished":
        raise BenchError(f"a turn ended with {last.name}")
    gevent.sleep(0.5)  # the last events are on their way


def _begun_session(rig: Rig) -> str:
    with rig.server.connect() as connection:
        session = new_session(connection)
        *_, _ = turn_events(connection, session, "short")
    return session


def _path(session: str) -> str:
    return f"/v1/sessions/{session}/stream"

"""What a streamed turn costs beside its provider alone, and how soon its first delta is there."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import gevent

from tools.bench.client import BenchError, Connection, Event
from tools.bench.report import Result
from tools.bench.rig import DELTA, Rig, floor_events, has_session_stream, new_session, turn_events

DELTAS, BURST = 200, 2000
SESSIONS, FOLLOWERS = 3, 3
TERMINALS = ("turn.finished", "turn.failed", "turn.canceled")


def measure_deltas(rig: Rig, rounds: int) -> list[Result]:
    """A turn of 200 deltas, each sent by itself."""
    took, floor = _beside_floor(rig, f"deltas {DELTAS}", DELTAS, rounds)
    return [_compared(f"streamed turn of {DELTAS} deltas", took, floor)]


def measure_burst(rig: Rig, rounds: int) -> list[Result]:
    """A turn of 2,000 deltas sent at once."""
    took, floor = _beside_floor(rig, f"burst {BURST}", BURST, rounds)
    return [_compared(f"streamed turn, burst of {BURST} deltas", took, floor)]


def measure_loss(rig: Rig, rounds: int) -> list[Result]:
    """Bursts in several sessions at once: deltas that a turn's stream or a session's feed was not given."""
    sessions = [gevent.spawn(_count_bursts, rig, rounds) for _ in range(SESSIONS)]
    gevent.joinall(sessions, raise_error=True)
    counts = [count for session in sessions for count in session.value]
    missing = len(counts) * rounds * BURST - sum(counts)
    what = f"deltas lost, {SESSIONS} sessions with bursts of {BURST}, {len(counts)} readers"
    return [Result(what, missing, "deltas", target=0)]


def measure_first_delta(rig: Rig, rounds: int) -> list[Result]:
    """From the provider's send to the client's receipt, through the server and without it."""
    with rig.server.connect() as connection, rig.provider.connect() as direct:
        session = new_session(connection)
        waits, floors = [], []
        for _ in range(rounds + 1):
            waits.append(_first_wait(turn_events(connection, session, "stamp"), _delta_text))
            floors.append(_first_wait(floor_events(direct, "stamp"), _chunk_text))
    value, floor = (median(each[1:]) * 1000 for each in (waits, floors))
    return [Result("first delta after the provider's first byte", value, "ms", floor, target=2)]


def _compared(what: str, took: float, floor: float) -> Result:
    return Result(what, took * 1000, "ms", floor * 1000, target=4, bounds_ratio=True)


def _beside_floor(rig: Rig, message: str, deltas: int, rounds: int) -> tuple[float, float]:
    """Median seconds of a turn and of the provider alone, taken in turns; the first of each warms up."""
    with rig.server.connect() as connection, rig.provider.connect() as direct:
        took, floors = [], []
        for _ in range(rounds + 1):
            session = _begun_session(connection)
            took.append(_time(partial(turn_events, connection, session, message), _delta_text, deltas))
            floors.append(_time(partial(floor_events, direct, message), _chunk_text, deltas))
    return median(took[1:]), median(floors[1:])


def _begun_session(connection: Connection) -> str:
    """A session that had a turn: loaded, and with no long history that its next request would carry."""
    session = new_session(connection)
    for _ in turn_events(connection, session, "short"):
        pass
    return session


def _time(ask: Callable[[], Iterator[Event]], text_of: Callable[[Event], str], deltas: int) -> float:
    """Seconds from the request to the end of its answer."""
    began = time.perf_counter()
    counted = _count(ask(), text_of)
    seconds = time.perf_counter() - began
    if counted != deltas:
        raise BenchError(f"{counted} of {deltas} deltas arrived")
    return seconds


def _count_bursts(rig: Rig, rounds: int) -> list[int]:
    """The deltas that each reader of one session counted: its turns' own streams first."""
    with rig.server.connect() as connection:
        session = new_session(connection)
        followers = [_follow(rig, session, rounds) for _ in range(FOLLOWERS if has_session_stream() else 0)]
        message = f"burst {BURST}"
        own = sum(_count(turn_events(connection, session, message), _delta_text) for _ in range(rounds))
        return [own, *(follower.get() for follower in followers)]


def _follow(rig: Rig, session: str, rounds: int) -> gevent.Greenlet:
    """Count the deltas of `rounds` turns on the session's feed, connected when this returns."""
    connection = rig.server.connect()
    events = connection.stream(f"/v1/sessions/{session}/stream")

    def count() -> int:
        left, counted = rounds, 0
        with connection:
            for event in events:
                counted += bool(_delta_text(event))
                left -= event.name in TERMINALS
                if not left:
                    break
        return counted

    return gevent.spawn(count)


def _count(events: Iterator[Event], text_of: Callable[[Event], str]) -> int:
    return sum(1 for event in events if text_of(event))


def _first_wait(events: Iterator[Event], text_of: Callable[[Event], str]) -> float:
    wait = None
    for event in events:
        text = text_of(event) if wait is None else ""
        if text:
            wait = (time.monotonic_ns() - int(text.rpartition(" ")[2])) / 1e9
    if wait is None:
        raise BenchError("no delta arrived")
    return wait


def _delta_text(event: Event) -> str:
    """The text of meka's event, decoded like the floor's, "" where it is no delta."""
    data = event.json()
    return str(data["text"]) if event.name == DELTA else ""


def _chunk_text(event: Event) -> str:
    """The text of a provider's event."""
    if event.data == b"[DONE]":
        return ""
    delta = event.json()["choices"][0]["delta"]
    return str(delta.get("content", ""))

"""What the server weighs: idle, a session that has had a turn, a stream that nothing comes over."""

from itertools import islice

import gevent

from tools.bench.client import Connection
from tools.bench.report import Result
from tools.bench.rig import Process, Rig, new_session, turn_events

SETTLE_SECONDS = 1.0
_AT_ONCE = 16


def measure_idle(rig: Rig) -> list[Result]:
    """The fresh server, after its first answers."""
    with rig.server.connect() as connection:
        connection.call("GET", "/v1/health/live")
        connection.call("GET", "/v1/info")
    return [Result("resident memory, idle", settled_bytes(rig.server) / 1e6, "MB", target=110)]


def measure_sessions(rig: Rig, sessions: int) -> list[Result]:
    """What one resident session adds, over `sessions` with a turn each."""
    _open(rig, _AT_ONCE)
    before = settled_bytes(rig.server)
    _open(rig, sessions)
    added = (settled_bytes(rig.server) - before) / sessions / 1000
    return [Result(f"a resident session, over {sessions}", added, "KB", target=60)]


def measure_streams(rig: Rig, streams: int) -> list[Result]:
    """What one idle session stream adds, over `streams` of one session's."""
    with rig.server.connect() as connection:
        session = new_session(connection)
        *_, _ = turn_events(connection, session, "short")
    before = settled_bytes(rig.server)
    held = [_listen(rig, session) for _ in range(streams)]
    added = (settled_bytes(rig.server) - before) / streams / 1000
    for connection in held:
        connection.close()
    return [Result(f"an idle stream, over {streams}", added, "KB", target=30)]


def measure_held_turns(rig: Rig, turns: int) -> list[Result]:
    """What one turn adds whose provider says nothing: the stream, its session, the provider's connection."""
    before = settled_bytes(rig.server)
    held = [_hold(rig) for _ in range(turns)]
    added = (settled_bytes(rig.server) - before) / turns / 1000
    for connection in held:
        connection.close()
    return [Result(f"a held turn with its session, over {turns}", added, "KB")]


def settled_bytes(process: Process) -> int:
    """Resident bytes once they no longer move."""
    last = process.resident_bytes()
    while True:
        gevent.sleep(SETTLE_SECONDS)
        now = process.resident_bytes()
        if abs(now - last) < 65536:
            return now
        last = now


def _open(rig: Rig, sessions: int) -> None:
    def run(count: int) -> None:
        with rig.server.connect() as connection:
            for _ in range(count):
                *_, _ = turn_events(connection, new_session(connection), "short")

    counts = [sessions // _AT_ONCE + (number < sessions % _AT_ONCE) for number in range(_AT_ONCE)]
    gevent.joinall([gevent.spawn(run, count) for count in counts], raise_error=True)


def _listen(rig: Rig, session: str) -> Connection:
    connection = rig.server.connect()
    connection.send("GET", f"/v1/sessions/{session}/stream")
    return connection


def _hold(rig: Rig) -> Connection:
    connection = rig.server.connect()
    events = turn_events(connection, new_session(connection), "hang")
    *_, _ = islice(events, 3)  # the turn's start, its opening, its first delta
    return connection

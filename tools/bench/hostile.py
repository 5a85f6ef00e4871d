"""How long others wait for an answer under each kind of hostility; nobody may wait longer at the median."""

import time

from tools.bench.attack import status_of, under_attack
from tools.bench.client import BenchError, Connection
from tools.bench.hostility import Kind, kinds, reads
from tools.bench.report import Result
from tools.bench.rig import TOKEN, Rig, new_session
from tools.bench.watcher import others_watched

TARGET_MS = 50
_ROWS = 6_000


def measure_hostile(rig: Rig, seconds: float) -> list[Result]:
    """The median of others' waits under each kind, beside the one without any."""
    with rig.server.connect() as connection:
        session = new_session(connection)
        with others_watched(rig.server.port, TOKEN) as quiet:
            time.sleep(seconds)
        long_session = _import_long(connection, session)
    floor, port = quiet.median_ms, rig.server.port
    short = [_measure(port, kind, session, seconds, floor) for kind in kinds()]
    return short + [_measure(port, kind, long_session, seconds, floor) for kind in reads()]


def _import_long(connection: Connection, session: str) -> str:
    """A session of many messages, one of them of megabytes."""
    archive = connection.call("GET", f"/v1/sessions/{session}/export?format=json")
    row = {"kind": "message", "created_at": archive["sessions"][0]["created_at"]}
    texts = ["word " * 500_000, *["a line of words, " * 20] * _ROWS]
    archive["sessions"][0]["log"] = [
        row | {"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": text}]}
        for number, text in enumerate(texts)
    ]
    return str(connection.call("POST", "/v1/sessions/import", archive)["session_id"])


def _measure(port: int, kind: Kind, session: str, seconds: float, floor: float) -> Result:
    raw = kind.make(session)
    with under_attack(port, raw, drips=kind.drips) as answers, others_watched(port, TOKEN) as watched:
        time.sleep(seconds)
    for answer in answers:
        if status_of(answer) not in kind.statuses:
            raise BenchError(f"{kind.name}: answered with {answer[:300]!r}")
    return Result(f"others' median under {kind.name}", watched.median_ms, "ms", floor, target=TARGET_MS)

"""How long others wait for an answer under each kind of hostility; nobody may wait longer at the median."""

import time

from tools.bench.attack import status_of, under_attack
from tools.bench.client import BenchError
from tools.bench.hostility import Kind, kinds
from tools.bench.report import Result
from tools.bench.rig import TOKEN, Rig, new_session
from tools.bench.watcher import others_watched

TARGET_MS = 50


def measure_hostile(rig: Rig, seconds: float) -> list[Result]:
    """The median of others' waits under each kind, beside the one without any."""
    with rig.server.connect() as connection:
        session = new_session(connection)
    with others_watched(rig.server.port, TOKEN) as quiet:
        time.sleep(seconds)
    return [_measure(rig.server.port, kind, session, seconds, quiet.median_ms) for kind in kinds()]


def _measure(port: int, kind: Kind, session: str, seconds: float, floor: float) -> Result:
    raw = kind.make(session)
    with under_attack(port, raw, drips=kind.drips) as answers, others_watched(port, TOKEN) as watched:
        time.sleep(seconds)
    for answer in answers:
        if status_of(answer) not in kind.statuses:
            raise BenchError(f"{kind.name}: answered with {answer[:300]!r}")
    return Result(f"others' median under {kind.name}", watched.median_ms, "ms", floor, target=TARGET_MS)

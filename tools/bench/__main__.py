"""`make bench`: every measure beside its floor and its target, as a table or as JSON."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.client import raise_descriptor_limit
from tools.bench.feeds import measure_fan_out, measure_reconnects, measure_stalled
from tools.bench.hostile import measure_hostile
from tools.bench.inbox import measure_posts
from tools.bench.lag import measure_lag
from tools.bench.memory import measure_held_turns, measure_idle, measure_sessions, measure_streams
from tools.bench.report import Result, as_json, as_line, as_table
from tools.bench.rig import Rig, has_session_stream, running_rig
from tools.bench.scale import measure_scale
from tools.bench.start import measure_start
from tools.bench.streaming import measure_burst, measure_deltas, measure_first_delta, measure_loss
from tools.bench.throughput import measure_throughput

Measures = Sequence[Callable[[Rig], Iterable[Result]]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything is done."""

    rounds: int = 30
    turns: int = 20
    files: int = 50_000
    probes: int = 1_000
    sessions: int = 500
    streams: int = 2_000
    held: int = 300
    starts: int = 5
    readers: int = 2_000
    ticks: int = 300
    returning: int = 500
    posts: int = 5_000
    stored: int = 20_000
    hostile_seconds: float = 4.0


QUICK = Sizes(
    rounds=8,
    turns=4,
    files=20_000,
    probes=300,
    sessions=100,
    streams=300,
    held=50,
    starts=3,
    readers=500,
    ticks=90,
    returning=200,
    posts=1_500,
    stored=2_000,
    hostile_seconds=1.5,
)


def measures_of(sizes: Sizes) -> dict[str, Measures]:
    """The measures by name; each name's run in a server of their own, in this order."""
    return {
        "streaming": [
            lambda rig: measure_deltas(rig, sizes.rounds),
            lambda rig: measure_burst(rig, sizes.rounds),
            lambda rig: measure_loss(rig, max(2, sizes.rounds // 5)),
            lambda rig: measure_first_delta(rig, sizes.rounds),
        ],
        "throughput": [lambda rig: measure_throughput(rig, sizes.turns)],
        "lag": [lambda rig: measure_lag(rig, sizes.files, sizes.probes)],
        "memory": [measure_idle, lambda rig: measure_sessions(rig, sizes.sessions)],
        "streams": _stream_measures(sizes),
        "feeds": [
            lambda rig: measure_reconnects(rig, sizes.returning),
            lambda rig: measure_stalled(rig, sizes.ticks),
            lambda rig: measure_fan_out(rig, sizes.readers, sizes.ticks),
        ],
        "inbox": [lambda rig: measure_posts(rig, sizes.posts)],
        "hostile": [lambda rig: measure_hostile(rig, sizes.hostile_seconds)],
    }


def _stream_measures(sizes: Sizes) -> Measures:
    held: Measures = [lambda rig: measure_held_turns(rig, sizes.held)]
    if not has_session_stream():
        return held
    return [lambda rig: measure_streams(rig, sizes.streams), *held]


def run(sizes: Sizes, only: Sequence[str], say: Callable[[str], None]) -> list[Result]:
    """Every result, in order."""
    results: list[Result] = []

    def keep(found: Iterable[Result]) -> None:
        for result in found:
            results.append(result)
            say(as_line(result))

    with tempfile.TemporaryDirectory(prefix="meka-bench-") as home:
        if not only or "start" in only:
            keep(measure_start(Path(home) / "start", sizes.starts))
        for name, measures in measures_of(sizes).items():
            if only and name not in only:
                continue
            with running_rig(Path(home) / name) as rig:
                for measure in measures:
                    keep(measure(rig))
        if not only or "scale" in only:
            keep(measure_scale(Path(home) / "scale", sizes.stored))
    return results


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """0 when every target is reached, 1 when one is not."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short form, for a first look")
    parser.add_argument("--json", action="store_true", help="the results as JSON")
    names = ["start", *measures_of(QUICK), "scale"]
    parser.add_argument("--only", action="append", default=[], choices=names, help="may be repeated")
    options = parser.parse_args()
    raise_descriptor_limit()
    results = run(QUICK if options.quick else Sizes(), options.only, _say)
    print(as_json(results) if options.json else as_table(results))
    return 0 if all(result.reached is not False for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

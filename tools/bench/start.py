"""How long the server takes from its process's start to its first healthy answer."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from tools.bench.report import Result
from tools.bench.rig import Process, prepare, start_server, stop_server


def measure_start(home: Path, rounds: int) -> list[Result]:
    """Beside it, as the floor, the interpreter with the packages that serving cannot do without."""
    environ = prepare(home, provider_port=9)
    took, floors = [], []
    for _ in range(rounds + 1):
        floors.append(_time_floor())
        took.append(time_start(home, environ))
    value, floor = median(took[1:]), median(floors[1:])
    return [Result("from start to the first healthy answer", value, "s", floor, target=1)]


def time_start(home: Path, environ: dict[str, str]) -> float:
    """Seconds from the server's start to its first healthy answer."""
    began = time.perf_counter()
    child, port = start_server(home, environ, home / "server.log")
    try:
        with Process(child.pid, port).connect() as connection:
            connection.call("GET", "/v1/health/live")
        return time.perf_counter() - began
    finally:
        stop_server(child)


def _time_floor() -> float:
    began = time.perf_counter()
    imports = "import gevent.monkey; gevent.monkey.patch_all(); import flask, requests, peewee"
    subprocess.run([sys.executable, "-c", imports], check=True)
    return time.perf_counter() - began

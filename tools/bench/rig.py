"""What is measured: a provider and a server, each a process of its own, and what /proc says of them."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meka.config.places import STORE_FILE
from meka.schema.operations import OPERATIONS
from tools.bench.client import BenchError, Connection, Event

START_SECONDS = 60.0
DRAIN_SECONDS = 60.0
POLL_SECONDS = 0.002
ROOT = Path(__file__).parents[2]
PROVIDER_PATH = "/v1/chat/completions"
TOKEN = "bench-token-0123456789abcdef"
DELTA = "assistant_text.delta"
_LISTENING = re.compile(rb"listening on http://[^:]+:(\d+)")
_CONFIG = """\
default_profile = "bench"

[accounts.bench]
backend = "openai-chat-completions"
base_url = "http://127.0.0.1:{provider_port}/v1"

[profiles.bench]
account = "bench"
model = "a-script"

[permissions]
default = "read"

[[serve.tokens]]
token = "${{MEKA_BENCH_TOKEN}}"
scopes = ["sessions:r", "sessions:w"]
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A child that serves on a port."""

    pid: int
    port: int

    def connect(self) -> Connection:
        """A connection to it."""
        return Connection(self.port, TOKEN)

    def resident_bytes(self) -> int:
        """Its resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def cpu_seconds(self) -> float:
        """What it has computed so far, in user and in kernel mode."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Rig:
    """A server whose provider is the other process; `work` is where its tools may look."""

    provider: Process
    server: Process
    work: Path

    @property
    def store(self) -> Path:
        """The server's database file."""
        return self.work.parent / "data" / STORE_FILE


@contextmanager
def running_rig(home: Path) -> Iterator[Rig]:
    """Both processes, everything they keep under `home`, ended when the block is left."""
    with running_provider() as provider, running_server(home, provider.port) as server:
        yield Rig(provider, server, home / "work")


@contextmanager
def running_provider() -> Iterator[Process]:
    """The provider of `tools.bench.provider`."""
    child = subprocess.Popen([sys.executable, "-m", "tools.bench.provider"], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        yield Process(child.pid, int(child.stdout.readline()))  # type: ignore[union-attr]
    finally:
        child.kill()
        child.wait()


@contextmanager
def running_server(home: Path, provider_port: int) -> Iterator[Process]:
    """`meka serve`, ended as an operator would. Raises: BenchError when it ends badly."""
    environ = prepare(home, provider_port)
    log = home / "server.log"
    child, port = start_server(home, environ, log)
    try:
        yield Process(child.pid, port)
    finally:
        code = stop_server(child)
    if code:
        raise BenchError(f"the server ended with {code}; its log:\n{log.read_text()}")


def prepare(home: Path, provider_port: int) -> dict[str, str]:
    """An installation with one account, logged in. Shape: the environment it is run with."""
    for name in ("config", "data", "work"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text(_CONFIG.format(provider_port=provider_port))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEKA_")}
    environ = kept | {
        "MEKA_CONFIG_DIR": str(home / "config"),
        "MEKA_DATA_DIR": str(home / "data"),
        "MEKA_BENCH_TOKEN": TOKEN,
        "PYTHONPATH": str(ROOT),
    }
    login = [sys.executable, "-m", "meka", "account", "login", "bench", "--api-key-stdin"]
    subprocess.run(login, env=environ, input=b"bench-key", stdout=subprocess.DEVNULL, check=True)
    return environ


def start_server(home: Path, environ: Mapping[str, str], log: Path) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the server and wait until it listens: the child and its port. Raises: BenchError."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "meka", "serve", "--bind", "127.0.0.1:0"],
            cwd=home / "work",
            env=environ,
            stdin=subprocess.DEVNULL,
            stderr=output,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        found = _LISTENING.search(log.read_bytes())
        if found:
            return child, int(found[1])
        time.sleep(POLL_SECONDS)
    stop_server(child)
    raise BenchError(f"the server did not start; its log:\n{log.read_text()}")


def stop_server(child: "subprocess.Popen[bytes]") -> int:
    """Drain the server and wait for its end. Shape: its exit code."""
    child.send_signal(signal.SIGTERM)
    try:
        code = child.wait(DRAIN_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    return code


def has_session_stream() -> bool:
    """Whether the server has a session's feed to be followed."""
    return any(each.path == "/v1/sessions/{id}/stream" for each in OPERATIONS.values())


def new_session(connection: Connection, **body: Any) -> str:
    """A new session's id."""
    return str(connection.call("POST", "/v1/sessions", body)["id"])


def turn_events(connection: Connection, session: str, message: str) -> Iterator[Event]:
    """The events of a streamed turn."""
    return connection.stream(f"/v1/sessions/{session}/turn", {"message": message, "stream": True})


def floor_events(connection: Connection, message: str) -> Iterator[Event]:
    """The events of the provider itself, asked for the same answer."""
    body = {"model": "a-script", "stream": True, "messages": [{"role": "user", "content": message}]}
    return connection.stream(PROVIDER_PATH, body)

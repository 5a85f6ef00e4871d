"""A real server in a child process, and a small client of it: what flow and contract tests are made of."""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import requests

TOKEN = "test-token-0123456789"
START_SECONDS = 30.0
_LISTENING = re.compile(r"listening on http://([^:]+):(\d+)")
CONFIG = """
default_profile = "scripted"

[accounts.mock]
backend = "openai-chat-completions"

[profiles.scripted]
account = "mock"
model = "scripted-1"

[permissions]
default = "workspace"

[serve]
docs = true
{serve}

[[serve.tokens]]
token = "${{MEKA_TEST_TOKEN}}"
scopes = ["sessions:r", "sessions:w"]
{more}
"""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; `id` is None where it has none."""

    name: str
    data: Mapping[str, Any]
    id: int | None = None


def read_events(response: requests.Response) -> Iterator[Event]:
    """The events of a stream, as they come."""
    name, number, data = "message", None, ""
    for raw in response.iter_lines(chunk_size=1):
        line = raw.decode()
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("id: "):
            number = int(line.removeprefix("id: "))
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
        elif not line and data:
            yield Event(name, json.loads(data), number)
            name, number, data = "message", None, ""


class Client:
    """Calls a server with one token."""

    def __init__(self, base_url: str, token: str | None = TOKEN) -> None:
        self.base_url = base_url
        self.http = requests.Session()
        self.http.trust_env = False
        if token is not None:
            self.http.headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        """One request; `json`, `params`, `headers`, `data` as requests takes them."""
        options.setdefault("timeout", 60)
        return self.http.request(method, self.base_url + path, **options)

    def session(self, **body: Any) -> str:
        """A new session's id."""
        answer = self.call("POST", "/v1/sessions", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def turn(self, session_id: str, message: str = "go", **body: Any) -> requests.Response:
        """A turn, held as JSON unless `body` says otherwise."""
        return self.call("POST", f"/v1/sessions/{session_id}/turn", json={"message": message, **body})

    def stream(self, session_id: str, message: str = "go", **body: Any) -> Iterator[Event]:
        """A turn's events."""
        with self.call(
            "POST",
            f"/v1/sessions/{session_id}/turn",
            json={"message": message, "stream": True, **body},
            stream=True,
        ) as response:
            assert response.status_code == 200, response.text
            yield from read_events(response)

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        """The whole history."""
        answer = self.call("GET", f"/v1/sessions/{session_id}/messages", params={"limit": 1000})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["messages"]
        return found


@dataclass
class Server:
    """`meka serve` in a child process, its directories under `root`."""

    root: Path
    rounds: Sequence[Any] = ()
    serve: str = ""
    more: str = ""
    config: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join(5)
        self.process.stderr.close()  # type: ignore[union-attr]

    def start(self) -> None:
        """Start (again) on what the directories hold."""
        for name in ("config", "data", "work"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        text = self.config or CONFIG.format(serve=self.serve, more=self.more)
        (self.root / "config" / "config.toml").write_text(text)
        script = self.root / "script.json"
        script.write_text(json.dumps(list(self.rounds)))
        environ = {
            **{key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ},
            "MEKA_CONFIG_DIR": str(self.root / "config"),
            "MEKA_DATA_DIR": str(self.root / "data"),
            "MEKA_TEST_TOKEN": TOKEN,
            "MEKA_MOCK_PROVIDER": "1",
            "MEKA_MOCK_PROVIDER_SCRIPT": str(script),
            "PYTHONPATH": str(Path(__file__).parent.parent),
            **self.environ,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "meka", "serve", "--bind", "127.0.0.1:0", *self.arguments],
            cwd=self.root / "work",
            env={key: value for key, value in environ.items() if value},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        self._address: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        address = self._address.get(timeout=START_SECONDS)
        assert address is not None, "the server did not start:\n" + "".join(self.log)
        self.base_url = address

    def _read_log(self) -> None:
        for line in self.process.stderr:  # type: ignore[union-attr]
            self.log.append(line)
            found = _LISTENING.search(line)
            if found:
                self._address.put(f"http://{found[1]}:{found[2]}")
        self._address.put(None)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end. Shape: the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(30)
        self._reader.join(5)
        self.process.stderr.close()  # type: ignore[union-attr]
        return code

    def client(self, token: str | None = TOKEN) -> Client:
        """A client of this server."""
        return Client(self.base_url, token)


def say(text: str) -> list[dict[str, Any]]:
    """A round that answers in words."""
    return [{"type": "text", "text": text}, {"type": "message_end", "stop_reason": "end_turn"}]


def use(*calls: tuple[str, str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A round that makes calls: (id, tool, arguments) each."""
    events: list[dict[str, Any]] = []
    for call_id, name, given in calls:
        events.append({"type": "tool_use_start", "id": call_id, "name": name})
        events.append({"type": "tool_use_end", "id": call_id, "name": name, "input": dict(given)})
    return [*events, {"type": "message_end", "stop_reason": "tool_use"}]

"""The bridge against a stub of the server: sent once however often, delivered and replies printed."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SESSION = "0189e5a0-0000-4000-8000-00000000000a"
TURN = "0189e5a0-0000-4000-8000-00000000000b"
ITEM = "0189e5a0-0000-4000-8000-00000000000c"
ACCEPTED = {
    "item_id": ITEM,
    "session_id": SESSION,
    "class": "steer",
    "state": "pending",
    "replayed": False,
    "retry_until": "2026-01-01T00:00:00Z",
}
BUSY = {"type": "about:blank", "title": "Busy", "status": 503, "detail": "try again"}
TURN_OF = {"session_id": SESSION, "turn_id": TURN}


class Stub(ThreadingHTTPServer):
    """Fails the first POST; what the second brings is on the feed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts: list[tuple[str | None, bytes]] = []
        self.events: queue.Queue[tuple[str, dict[str, object]] | None] = queue.Queue()


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.headers["Idempotency-Key"], body))
        if len(self.server.posts) == 1:
            return self._answer(503, BUSY)
        self.server.events.put(("inbox.delivered", {**TURN_OF, "item_ids": [ITEM]}))
        for text in ("good ", "day"):
            self.server.events.put(("assistant_text.delta", {**TURN_OF, "text": text}))
        self.server.events.put(("turn.finished", TURN_OF))
        return self._answer(202, ACCEPTED)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while (event := self.server.events.get()) is not None:
            self.wfile.write(f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n".encode())

    def _answer(self, status: int, body: dict[str, object]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.events.put(None)
            server.shutdown()
            thread.join()


@pytest.fixture
def bridge(stub: Stub) -> Iterator["subprocess.Popen[str]"]:
    command = [
        *(sys.executable, "-W", "error", str(ROOT / "clients/python/examples/bridge.py")),
        *(f"http://127.0.0.1:{stub.server_address[1]}", SESSION),
    ]
    environ = os.environ | {"PYTHONPATH": str(ROOT / "clients/python"), "MEKA_TOKEN": "t", "NO_PROXY": "*"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_bridge_sends_once_and_prints_what_became_of_it(stub: Stub, bridge: "subprocess.Popen[str]") -> None:
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    bridge.stdin.write("hello\n")
    bridge.stdin.flush()
    printed = [bridge.stdout.readline().rstrip() for _ in range(4)]
    assert printed[0] == f"session {SESSION}"
    assert sorted(printed[1:]) == [f"delivered {ITEM}", f"sent {ITEM}", "turn.finished: good day"]
    assert len(stub.posts) == 2
    assert stub.posts[0] == stub.posts[1]
    assert stub.posts[0][0]
    assert json.loads(stub.posts[0][1]) == {"message": "hello", "class": "steer", "source": "bridge"}

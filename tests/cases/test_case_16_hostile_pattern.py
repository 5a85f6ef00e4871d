"""Case 16: the pattern `(a+)+$` over a line of forty a's and a b."""

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cases.support import check_pairs, results
from tests.serving import Client, Server, say, use

PATTERN = "(a+)+$"
LINE = "a" * 40 + "b"
SOON_SECONDS = 10.0


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = LINE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def page() -> Iterator[str]:
    web = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{web.server_address[1]}/"
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


def delays_until(client: Client, done: threading.Event) -> list[float]:
    delays = []
    while not done.wait(0.005):
        started = time.monotonic()
        assert client.call("GET", "/v1/health/live").status_code == 200
        delays.append(time.monotonic() - started)
    return delays


def test_hostile_pattern_is_answered_soon_and_delays_nobody(tmp_path: Path) -> None:
    with page() as url:
        rounds = [
            use(("w", "scratchpad_write", {"name": "line", "content": LINE})),
            use(
                ("c1", "file_search", {"pattern": PATTERN}),
                ("c2", "file_read", {"path": "line.txt", "regex": PATTERN}),
                ("c3", "web_fetch", {"url": url, "regex": PATTERN}),
                ("c4", "scratchpad_read", {"name": "line", "regex": PATTERN}),
                ("c5", "conversation_search", {"query": PATTERN, "is_regex": True}),
                ("c6", "file_read", {"path": "line.txt", "regex": "(?=a)"}),
            ),
            say("ok"),
        ]
        with Server(tmp_path, rounds) as server:
            (tmp_path / "work" / "line.txt").write_text(LINE + "\n", encoding="utf-8")
            client, other = server.client(), server.client()
            session = client.session(permission="workspace")
            done = threading.Event()
            delays: list[float] = []
            watcher = threading.Thread(target=lambda: delays.extend(delays_until(other, done)))
            watcher.start()
            started = time.monotonic()
            answer = client.turn(session, LINE)
            took = time.monotonic() - started
            done.set()
            watcher.join(20)
            history = client.messages(session)
    assert answer.status_code == 200, answer.text
    print(f"took {took:.2f} s; others: median {statistics.median(delays) * 1000:.1f} ms, "
          f"longest {max(delays) * 1000:.0f} ms of {len(delays)}")  # fmt: skip
    assert took < SOON_SECONDS
    assert statistics.median(delays) < 0.5
    check_pairs(history)
    found = results(history[4])
    assert [call_id for call_id, _, _ in found] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert [failed for _, failed, _ in found] == [False] * 5 + [True]

"""A page of another origin in a real browser: what CORS lets it do, and what it keeps from it."""

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.serving import TOKEN, Server, say

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *(
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-dev-shm-usage",
        "--metrics-recording-only",
    ),
)
RUN_SECONDS = 80
# What the page learns is posted to the server it came from. A stream's chunks are taken one at a time.
PAGE = """<!doctype html><script type="module">
const {base, token} = GIVEN;
const headers = {Authorization: `Bearer ${token}`, "Content-Type": "application/json"};
const ask = (path, body) => fetch(base + path, {method: "POST", headers, body: JSON.stringify(body)});
const told = {origin: location.origin};
try {
  const session = await (await ask("/v1/sessions", {})).json();
  const answer = await ask(`/v1/sessions/${session.id}/turn`, {message: "go", stream: true});
  told.type = answer.headers.get("Content-Type");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  told.inFlight = null;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    text += value;
    if (told.inFlight === null && text.includes("assistant_text.delta")) {
      const seen = await fetch(`${base}/v1/sessions/${session.id}`, {headers});
      told.inFlight = (await seen.json()).turn_in_flight;
      await ask(`/v1/sessions/${session.id}/cancel`, {});
    }
  }
  told.events = [...text.matchAll(/^event: (.*)$/gm)].map((found) => found[1]);
  const messages = await fetch(`${base}/v1/sessions/${session.id}/messages`, {headers});
  told.etag = Boolean(messages.headers.get("ETag"));
  const refused = await fetch(`${base}/v1/info`, {headers: {Authorization: "Bearer wrong"}});
  told.refused = [refused.status, refused.headers.get("Content-Type")];
} catch (error) {
  told.error = error.name;
}
await fetch("/told", {method: "POST", body: JSON.stringify(told)});
</script>"""

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")


class Site(ThreadingHTTPServer):
    """The page's own origin: it serves the page and takes what the page tells."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.page = b""
        self.told: dict[str, Any] = {}
        self.heard = threading.Event()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self._answer(200 if self.path == "/" else 404, self.server.page if self.path == "/" else b"")

    def do_POST(self) -> None:
        self.server.told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(204, b"")
        self.server.heard.set()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def told_by_page(site: Site, base: str, profile: Path) -> dict[str, Any]:
    """What the page of `site` learned of the server at `base`."""
    site.page = PAGE.replace("GIVEN", json.dumps({"base": base, "token": TOKEN})).encode()
    with browsing(f"{site.origin}/", profile) as log:
        assert site.heard.wait(RUN_SECONDS), log.read_text(errors="replace")
    return site.told


@contextmanager
def browsing(url: str, profile: Path) -> Iterator[Path]:
    """A browser of its own on `url`. Shape: the file that it writes its complaints to."""
    log = profile.with_suffix(".log")
    with log.open("wb") as complaints:
        process = subprocess.Popen(
            [CHROMIUM, *QUIET, f"--user-data-dir={profile}", "--remote-debugging-port=0", url],
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": str(profile)},
        )
        try:
            yield log
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def test_page_of_an_allowed_origin_reads_a_stream_as_it_comes(tmp_path: Path, site: Site) -> None:
    paused = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 60_000}]
    allowed = f'cors_allowed_origins = ["{site.origin}"]'
    with Server(tmp_path / "server", rounds=(paused,), serve=allowed) as server:
        told = told_by_page(site, server.base_url, tmp_path / "profile")
    assert told.pop("type").startswith("text/event-stream")
    assert told == {
        "origin": site.origin,
        "inFlight": True,
        "events": ["turn.started", "message.appended", "assistant_text.delta", "turn.canceled"],
        "etag": True,
        "refused": [401, "application/problem+json"],
    }


def test_page_of_another_origin_is_kept_out(tmp_path: Path, site: Site) -> None:
    allowed = 'cors_allowed_origins = ["https://ui.example"]'
    with Server(tmp_path / "server", rounds=(say("unheard"),), serve=allowed) as server:
        told = told_by_page(site, server.base_url, tmp_path / "profile")
        assert server.client().call("GET", "/v1/sessions").json()["sessions"] == []
    assert told == {"origin": site.origin, "error": "TypeError"}

"""The clients as docs/clients.md has them used: the bridge's recipe in bash, the page's script under node."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.serving import TOKEN, Server, say

ROOT = Path(__file__).parents[2]
RUN_SECONDS = 60
BRIDGE = re.compile(r"^<!-- run: bridge -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r'<script type="module">\n(.*?)</script>', re.DOTALL)
SESSION = "0189e5a0-0000-4000-8000-00000000000a"
TURN = {"session_id": SESSION, "turn_id": "0189e5a0-0000-4000-8000-00000000000b"}

# As much of a browser as the page uses; what it shows is printed once an entry begins as `until` says.
BROWSER = """
const [base, token, session, message, until] = process.argv.slice(2);
const shown = [];
const make = () => ({
  value: "", className: "", textContent: "", handlers: {},
  addEventListener(name, handler) { this.handlers[name] = handler; },
  replaceChildren() { shown.length = 0; },
  append(element) {
    shown.push(element);
    if (!element.textContent.startsWith(until)) return;
    console.log(JSON.stringify(shown.map((each) => [each.className, each.textContent])));
    process.exit(0);
  },
});
const elements = new Map();
globalThis.document = {
  createElement: make,
  getElementById(id) {
    if (!elements.has(id)) elements.set(id, make());
    return elements.get(id);
  },
};
const submit = (id) => document.getElementById(id).handlers.submit({preventDefault() {}});
const fill = (values) => Object.entries(values).forEach(([id, value]) => {
  document.getElementById(id).value = value;
});
fill({base, token, session, message});
"""
USER = """
submit("connect");
if (message) submit("send");
"""

needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="the recipe needs bash")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="the page's script runs under node here")


@needs_bash
def test_bridge_recipe_prints_the_answer_and_ends(tmp_path: Path) -> None:
    found = BRIDGE.search((ROOT / "docs/clients.md").read_text())
    assert found
    with Server(tmp_path, rounds=(say("And to you."),)) as server:
        environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "clients/python"),
            "MEKA": server.base_url,
            "MEKA_API_TOKEN": TOKEN,
            "no_proxy": "127.0.0.1",
        }
        printed = run(["bash", "-euo", "pipefail", "-c", found[1]], environ).splitlines()
    item = next(line.removeprefix("sent ") for line in printed if line.startswith("sent "))
    assert printed[0].startswith("session ")
    assert f"delivered {item}" in printed

    assert "turn.finished: And to you." in printed


@needs_node
def test_page_shows_what_it_sent_and_the_answer(tmp_path: Path) -> None:
    with Server(tmp_path / "server", rounds=(say("Hello there."),)) as server:
        session = server.client().session()
        shown = page(tmp_path, server.base_url, session, message="Good day.", until="turn.")
    assert shown[0] == ["entry user", "Good day."]
    assert sorted(shown[1:-1]) == [["entry", "Hello there."], ["note", "1 message(s) read"]]
    assert shown[-1] == ["note", "turn.finished "]


@needs_node
def test_page_says_why_it_was_refused(tmp_path: Path) -> None:
    with Server(tmp_path / "server") as server:
        shown = page(tmp_path, server.base_url, SESSION, until="refused")
    assert shown == [["note", f"refused: session '{SESSION}' not found"]]


@needs_node
def test_page_takes_a_dropped_line_up_where_it_broke(tmp_path: Path, stub: "Stub") -> None:
    shown = page(tmp_path, f"http://127.0.0.1:{stub.server_address[1]}", SESSION, until="turn.")
    assert shown == [["entry", "Hello there."], ["note", "turn.finished "]]
    assert stub.positions == [None, "7"]


def page(tmp_path: Path, base: str, session: str, *, message: str = "", until: str) -> list[list[str]]:
    """What the page shows, up to an entry that begins with `until`; its form is filled in and submitted."""
    found = SCRIPT.search((ROOT / "clients/web/page.html").read_text())
    assert found
    script = tmp_path / "page.mjs"
    script.write_text(BROWSER + found[1] + USER)
    command = ["node", str(script), base, TOKEN, session, message, until]
    shown: list[list[str]] = json.loads(run(command, {"PATH": os.environ["PATH"]}))
    return shown


def run(command: list[str], environ: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Stub(ThreadingHTTPServer):
    """A feed whose first connection ends in the middle of an event."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.positions: list[str | None] = []


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_GET(self) -> None:
        self.server.positions.append(self.headers["Last-Event-ID"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if len(self.server.positions) == 1:
            cut = frame("assistant_text.delta", 8, text="there.")[:-1]
            self.wfile.write(b"retry: 10\n\n" + frame("assistant_text.delta", 7, text="Hello ") + cut)
            return
        self.wfile.write(frame("assistant_text.delta", 8, text="there.") + frame("turn.finished", 9))

    def log_message(self, *_: object) -> None:
        pass


def frame(name: str, number: int, **payload: str) -> bytes:
    return f"event: {name}\nid: {number}\ndata: {json.dumps({**TURN, **payload})}\n\n".encode()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

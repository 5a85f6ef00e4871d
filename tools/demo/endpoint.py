"""A Chat Completions endpoint on loopback that plays a fixed script, a reply for each request."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tools.demo.script import Reply

WORD_SECONDS = 0.03


def chunks_of(reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    """The stream's chunks: the words one by one, then the call, then why it ended."""
    for word in reply.text.split(" "):
        yield _chunk({"content": word + " "})
    if reply.tool:
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        yield _chunk({"tool_calls": [call]})
    yield _chunk({}, "tool_calls" if reply.tool else "stop")


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "choices": [choice]}


class _Handler(BaseHTTPRequestHandler):
    """Answers by how far the conversation has come, so that a request sent twice is answered alike."""

    replies: Sequence[Reply]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = sum(message["role"] == "assistant" for message in body["messages"])
        reply = self.replies[min(number, len(self.replies) - 1)]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks_of(reply, number):
            self._send(json.dumps(chunk))
            time.sleep(WORD_SECONDS)
        self._send("[DONE]")

    def _send(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """The terminal belongs to the demo."""


@contextmanager
def scripted_endpoint(replies: Sequence[Reply]) -> Iterator[str]:
    """Serve `replies` from a thread for as long as the block runs; its base URL."""
    handler = type("Handler", (_Handler,), {"replies": replies})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="scripted-endpoint")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""A model provider on the loopback that speaks the three wire protocols from a script.

In a test: `with LoopbackProvider([...rounds...]) as upstream:` and `upstream.base_url`. As a program:
`python -m tests.loopback_provider --script rounds.json --port 0`, which prints `{"base_url": ...}`.

A round is a list of events in the scripted provider's format, a `Reply` (in a script file: an object with
its fields), or a function of the request that gives either. Every POST consumes one; a spent script answers
with `default`, an empty message. A round's `sleep` and `stall` wait in milliseconds; its `fail*` events
answer with a status where nothing was written before them and break the stream otherwise.
"""

import argparse
import json
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.loopback_wires import Event, WireWriter, writer_for

_POLL_SECONDS = 0.5
_FAILURES: Mapping[str, tuple[int, str]] = {
    "fail": (404, "not_found_error"),
    "fail_retryable": (503, "overloaded_error"),
    "fail_invalid_request": (400, "invalid_request_error"),
    "fail_context_overflow": (413, "request_too_large"),
    "fail_quota": (402, "billing_error"),
    "fail_credential": (401, "authentication_error"),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """How one request is answered.

    `status`, `headers`, `body` answer by themselves (`body` text as it is, anything else as JSON); `raw` is
    written in place of the stream's bytes. `burst`: the whole stream in one write. `cut_after_bytes`: the
    connection is dropped within the body. `hang`: silence after the events, until the client goes.
    `keepalive_ms`: comments meanwhile. `length`: states this Content-Length and sends no chunks.
    """

    events: Sequence[Event] = ()
    delay_ms: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    raw: bytes | None = None
    burst: bool = False
    cut_after_bytes: int | None = None
    hang: bool = False
    keepalive_ms: int | None = None
    length: int | None = None


@dataclass(slots=True)
class Received:
    """One request as it came in; `gone` is set when its client left before the answer's end."""

    path: str
    headers: Mapping[str, str]
    body: Any
    port: int
    gone: threading.Event = field(default_factory=threading.Event)


Answer = Sequence[Event] | Reply
Round = Answer | Callable[[Received], Answer]


class LoopbackProvider:
    """The server; `requests` holds what it received, in order."""

    def __init__(self, rounds: Iterable[Round] = (), *, default: Round = (), port: int = 0) -> None:
        self.requests: list[Received] = []
        self.stopping = threading.Event()
        self._rounds = deque(rounds)
        self._default = default
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "LoopbackProvider":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        """Where it listens, without a path: the base URL of Anthropic's protocol."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The base URL of OpenAI's protocols; Anthropic's drivers drop its `/v1`."""
        return f"{self.root}/v1"

    def add(self, *rounds: Round) -> None:
        """Append rounds to the script."""
        with self._lock:
            self._rounds.extend(rounds)

    def wait_for_requests(self, number: int, seconds: float = 30) -> list[Received]:
        """The requests, once there are `number` of them. Raises: TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.requests) >= number, seconds):
                raise TimeoutError(f"{len(self.requests)} of {number} requests arrived")
            return list(self.requests)

    def answer(self, received: Received) -> Reply:
        """Record a request and take its round."""
        with self._arrived:
            self.requests.append(received)
            self._arrived.notify_all()
            chosen = self._rounds.popleft() if self._rounds else self._default
        answer = chosen(received) if callable(chosen) else chosen
        return answer if isinstance(answer, Reply) else Reply(answer)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    provider: LoopbackProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no error here."""


class _GoneError(Exception):
    """The client left, the script cut the connection, or the server stops."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        received = self._receive()
        reply = self.server.provider.answer(received)
        try:
            self._wait(reply.delay_ms / 1000)
            self._respond(received, reply)
        except (_GoneError, OSError):
            received.gone.set()
            self.close_connection = True

    def _receive(self) -> Received:
        if self.headers.get("Transfer-Encoding"):
            raise ValueError("chunked requests are not expected")
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Received(self.path, headers, json.loads(raw) if raw else None, self.client_address[1])

    def _respond(self, received: Received, reply: Reply) -> None:
        writer = writer_for(received.path, reply.events)
        if writer is None:
            return self._send_error_body(404, {"error": {"message": "no such path"}}, reply)
        if reply.status != 200 or reply.body is not None:
            return self._send_error_body(reply.status, reply.body, reply)
        failure = _failure_at_start(reply.events)
        if failure is not None:
            return self._send_failure(writer, failure, reply)
        if received.body.get("stream"):
            return self._send_stream(writer, reply)
        self._wait(sum(event["ms"] for event in reply.events if event["type"] in ("sleep", "stall")) / 1000)
        return self._send_error_body(200, writer.whole(reply.events), reply)

    def _send_failure(self, writer: WireWriter, event: Event, reply: Reply) -> None:
        status, kind = _FAILURES[event["type"]]
        headers = dict(reply.headers)
        if event.get("retry_after_secs") is not None:
            headers["Retry-After"] = str(event["retry_after_secs"])
        body = writer.error(kind, event.get("message", ""))
        self._send_error_body(event.get("status", status), body, Reply(headers=headers))

    def _send_error_body(self, status: int, body: Any, reply: Reply) -> None:
        raw = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
        media_type = "text/plain" if isinstance(body, str) else "application/json"
        self.send_response(status)
        headers = {"Content-Type": media_type, **reply.headers}
        headers["Content-Length"] = str(len(raw) if reply.length is None else reply.length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.cut_after_bytes is not None:
            self.wfile.write(raw[: reply.cut_after_bytes])
            self._drop()
        self.wfile.write(raw)
        if reply.hang:
            self._hang(None)

    def _send_stream(self, writer: WireWriter, reply: Reply) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        out = _Chunks(self, reply)
        if reply.raw is not None:
            out.write(reply.raw)
        else:
            self._play(writer, reply, out)
        if reply.hang:
            out.flush()
            self._hang(reply.keepalive_ms)
        out.end()

    def _play(self, writer: WireWriter, reply: Reply, out: "_Chunks") -> None:
        out.write(b"".join(writer.open()))
        for event in reply.events:
            if event["type"] in ("sleep", "stall"):
                self._wait(event["ms"] / 1000)
            elif event["type"] == "fail_stream":
                out.flush()
                self._drop()
            elif event["type"] in _FAILURES:
                out.write(writer.error_frame(_FAILURES[event["type"]][1], event.get("message", "")))
                return
            elif event["type"] == "message_end":
                break
            else:
                for frame in writer.write(event):
                    out.write(frame)
        if not reply.hang:
            out.write(b"".join(writer.close()))

    def _hang(self, keepalive_ms: int | None) -> None:
        """Stay silent, but for comments, until the client goes or the server stops."""
        period = 3600.0 if keepalive_ms is None else keepalive_ms / 1000
        while True:
            self._wait(period)
            self.wfile.write(b"d\r\n: keepalive\n\n\r\n" if keepalive_ms is not None else b"")

    def _wait(self, seconds: float) -> None:
        """Wait while the client is there. Raises: _GoneError."""
        waited = 0.0
        while waited < seconds:
            step = min(_POLL_SECONDS, seconds - waited)
            readable, _, _ = select.select([self.connection], [], [], step)
            if self.server.provider.stopping.is_set() or (readable and self._has_left()):
                raise _GoneError
            waited += step

    def _has_left(self) -> bool:
        """Whether the client closed; anything else that it sends ahead of the answer breaks the protocol."""
        if self.connection.recv(1, socket.MSG_PEEK):
            raise ValueError("the client sent more than one request")
        return True

    def _drop(self) -> None:
        """Break the connection within the body."""
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        raise _GoneError


class _Chunks:
    """The body of a stream: a chunk a frame, one for all of it, or a part of it."""

    def __init__(self, handler: _Handler, reply: Reply) -> None:
        self._handler = handler
        self._burst = reply.burst
        self._left = reply.cut_after_bytes
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        self._held.append(data)
        if not self._burst:
            self.flush()

    def flush(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        cut = self._left is not None and len(data) >= self._left
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if data:
            self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if cut:
            self._handler._drop()

    def end(self) -> None:
        self.flush()
        self._handler.wfile.write(b"0\r\n\r\n")


def _failure_at_start(events: Sequence[Event]) -> Event | None:
    """The failure that comes before anything is written, if the round has one."""
    for event in events:
        if event["type"] not in ("sleep", "stall"):
            return event if event["type"] in _FAILURES else None
    return None


def read_script(path: Path) -> list[Round]:
    """The rounds of a script file."""
    rounds = json.loads(path.read_text(encoding="utf-8"))
    return [Reply(**entry) if isinstance(entry, dict) else entry for entry in rounds]


def main() -> None:
    """Serve a script until the process is told to end."""
    parser = argparse.ArgumentParser(description="A scripted model provider on the loopback")
    parser.add_argument("--script", type=Path, help="a JSON file of rounds")
    parser.add_argument("--repeat", action="store_true", help="answer with the last round for ever")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    rounds = read_script(options.script) if options.script else []
    default = rounds.pop() if rounds and options.repeat else ()
    with LoopbackProvider(rounds, default=default, port=options.port) as provider:
        print(json.dumps({"base_url": provider.base_url}), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

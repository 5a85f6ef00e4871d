"""A loopback web server for the tests of `web_fetch`: each path answers as its table entry says.

It runs in threads, which are greenlets where the process is patched.
"""

import contextlib
import gzip
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ENDLESS_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """What a path answers; `BASE` in a header value stands for the server's address."""

    body: bytes = b""
    content_type: str | None = "text/html"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    states_length: bool = True


class WebServer:
    """Answers from a table of paths. `/drip` sends a byte now and then, `/endless` 64 MiB."""

    def __init__(self, answers: Mapping[str, Answer], certificate: Path | None = None) -> None:
        self.answers = answers
        self.requests: list[tuple[str, Mapping[str, str]]] = []
        self.dripping = threading.Event()
        self.dropped = threading.Event()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "http" if certificate is None else "https"
        self.base = f"{scheme}://127.0.0.1:{self._server.server_port}"

    @contextlib.contextmanager
    def running(self) -> Iterator["WebServer"]:
        """Serve while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append((self.path, dict(self.headers)))
            with contextlib.suppress(ConnectionError):
                special = {"/drip": self._drip, "/endless": self._endless, "/hang": server.closing.wait}
                special.get(self.path, self._answer)()

        def _answer(self) -> None:
            answer = server.answers.get(self.path, Answer(status=404))
            self.send_response(answer.status)
            if answer.content_type is not None:
                self.send_header("Content-Type", answer.content_type)
            for name, value in answer.headers.items():
                self.send_header(name, value.replace("BASE", server.base))
            if answer.states_length:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def _drip(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            try:
                while not server.closing.wait(0.02):
                    self.wfile.write(b".")
                    server.dripping.set()
            except ConnectionError:
                server.dropped.set()

        def _endless(self) -> None:
            self.send_response(200)
            self.end_headers()
            for _ in range(ENDLESS_BYTES >> 16):
                self.wfile.write(b"x" * (1 << 16))

        def log_message(self, *_: object) -> None:
            return

    return Handler


def gzip_bomb(size_bytes: int) -> bytes:
    """Zeros, compressed twice as a stream that grows a thousandfold."""
    return gzip.compress(b"\0" * size_bytes)

"""A token endpoint on the loopback device, in a native thread."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

Answer = tuple[int, Any]


class Authority:
    """`answers` are given in order, a callable one as the request arrives; `grants` keeps what was posted."""

    def __init__(self, *answers: Answer | Callable[[], Answer]) -> None:
        self.answers = list(answers)
        self.grants: list[dict[str, str]] = []
        self._server = _Server(("127.0.0.1", 0), _Endpoint)
        self._server.authority = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def token_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/oauth/token"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    authority: Authority


class _Endpoint(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        authority = self.server.authority
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        authority.grants.append({key: value[0] for key, value in form.items()})
        answer = authority.answers.pop(0)
        status, body = answer() if callable(answer) else answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def tokens(name: str, seconds: int = 3600) -> Answer:
    """An answer that grants."""
    return 200, {"access_token": name, "refresh_token": f"{name}-refresh", "expires_in": seconds}

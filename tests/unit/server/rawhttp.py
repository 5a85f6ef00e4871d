"""A server in this process and raw sockets to talk to it; everything runs in gevent's hub."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gevent
from gevent import socket

from meka.base.errors import MekaError
from meka.server import Server, ServerSettings

WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One connection, bytes in and answers out."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=WAIT_SECONDS)
        self.stream = self.socket.makefile("rb")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, *, head_only: bool = False) -> Answer:
        words = self.stream.readline().decode().split(" ", 2)
        headers = {}
        while (line := self.stream.readline().decode()) != "\r\n":
            name, _, value = line.strip().partition(": ")
            headers[name.lower()] = value
        body = b"" if head_only else self._body(headers)
        return Answer(int(words[1]), headers, body)

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return bytes(self.stream.read(int(headers.get("content-length", "0"))))
        body = b""
        while chunk := self.chunk():
            body += chunk
        return body

    def chunk(self) -> bytes:
        size = int(self.stream.readline(), 16)
        return bytes(self.stream.read(size + 2)[:-2])

    def ended(self) -> bool:
        """Whether the server closed, with nothing more to read."""
        try:
            return not self.stream.read()
        except ConnectionResetError:
            return True


@contextmanager
def serving(app: Callable[..., Any], *, grant: Any = None, **settings: Any) -> Iterator[Server]:
    server = Server("127.0.0.1:0", app, ServerSettings(**settings), grant)
    server.start()
    try:
        with gevent.Timeout(3 * WAIT_SECONDS):
            yield server
    finally:
        server.close()


def echo(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answers with method, path and the size of the body."""
    try:
        size = len(environ["wsgi.input"].read())
    except MekaError as error:
        start_response(f"{error.status} Refused", [("Content-Type", "text/plain")])
        return [error.detail.encode()]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} {size}".encode()]


def request(path: str = "/", method: str = "GET", *fields: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body

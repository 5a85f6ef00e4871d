"""A small HTTP client on a gevent socket: the same for the server and for the floor beneath it."""

import json
import resource
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from gevent import socket

READ_BYTES = 262144
WAIT_SECONDS = 120.0


class BenchError(Exception):
    """Something answered otherwise than it should: there is nothing to measure."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its name ("" without one), its data, undecoded, and its id where it has one."""

    name: str
    data: bytes
    id: int | None = None

    def json(self) -> Any:
        """The data's value."""
        return json.loads(self.data)


class Connection:
    """One kept-alive connection; one request at a time."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._token = token
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave, whatever is under way."""
        self._socket.close()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The decoded answer. Raises: BenchError when it is no success."""
        status, headers = self.send(method, path, body)
        if headers.get("transfer-encoding") == "chunked":
            raw = b"".join(self.chunks())
        else:
            raw = self._read(int(headers.get("content-length", 0)))
        if not 200 <= status < 300:
            raise BenchError(f"{method} {path}: {status} {raw[:300].decode(errors='replace')}")
        return json.loads(raw) if raw else None

    def stream(
        self, path: str, body: Mapping[str, Any] | None = None, last_event_id: int | None = None
    ) -> Iterator[Event]:
        """The events of a stream, POSTed for where there is a body. Raises: BenchError."""
        status, headers = self.send("GET" if body is None else "POST", path, body, last_event_id)
        if status != 200:
            raw = self._read(int(headers.get("content-length", 0)))
            raise BenchError(f"{path}: {status} {raw[:300].decode(errors='replace')}")
        return self._events()

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        last_event_id: int | None = None,
    ) -> tuple[int, dict[str, str]]:
        """Send a request and read the answer's head: its status and its headers, named in lower case."""
        raw = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        if self._token:
            head += f"Authorization: Bearer {self._token}\r\n"
        if last_event_id is not None:
            head += f"Last-Event-ID: {last_event_id}\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
        self._socket.sendall(head.encode() + b"\r\n" + raw)
        return self._read_head()

    def chunks(self) -> Iterator[bytes]:
        """The body of a chunked answer, as it comes: no chunk of it waits for a later one."""
        while True:
            while (end := self._held.find(b"\r\n")) < 0:
                self._more()
            size = int(self._held[:end], 16)
            self._held = self._held[end + 2 :]
            data = self._read(size)
            self._read(2)
            if not size:
                return
            yield data

    def _events(self) -> Iterator[Event]:
        held = b""
        for data in self.chunks():
            *whole, held = (held + data).split(b"\n\n")
            yield from filter(None, map(_event, whole))

    def _read_head(self) -> tuple[int, dict[str, str]]:
        while b"\r\n\r\n" not in self._held:
            self._more()
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(first.split(" ")[1]), headers

    def _read(self, size: int) -> bytes:
        while len(self._held) < size:
            self._more()
        data, self._held = self._held[:size], self._held[size:]
        return data

    def _more(self) -> None:
        piece = self._socket.recv(READ_BYTES)
        if not piece:
            raise BenchError("the connection ended within an answer")
        self._held += piece


def raise_descriptor_limit() -> None:
    """Let this process and its children hold thousands of connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _event(raw: bytes) -> Event | None:
    """An event with data; None for a comment or a retry hint."""
    name, data, event_id = "", b"", None
    for line in raw.split(b"\n"):
        if line.startswith(b"data: "):
            data = line[6:]
        elif line.startswith(b"event: "):
            name = line[7:].decode()
        elif line.startswith(b"id: "):
            event_id = int(line[4:])
    return Event(name, data, event_id) if data else None

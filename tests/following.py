"""A client that follows a stream in a thread of its own, and leaves when it is told to."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.serving import TOKEN, Event

WAIT_SECONDS = 30.0


class Follower:
    """Reads a stream's events as they come; `status` and `headers` are the answer's.

    `events` grows; `wait_for` waits for what is to come. `leave` shuts the connection at once.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        token: str = TOKEN,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        address = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        self._connection.connect()
        self._socket: socket.socket = self._connection.sock
        self._connection.request(
            "GET" if body is None else "POST",
            path,
            None if body is None else json.dumps(body),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **(headers or {})},
        )
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = self._response.headers
        self.first_line = ""
        self.events: list[Event] = []
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def _read(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            self._read_lines()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_lines(self) -> None:
        fields: dict[str, str] = {}
        while line := self._response.readline():
            text = line.decode().rstrip("\n")
            self.first_line = self.first_line or text
            name, _, value = text.partition(": ")
            if text:
                fields[name] = value
            elif "data" in fields:
                self._keep(fields)
                fields = {}
            else:
                fields = {}

    def _keep(self, fields: Mapping[str, str]) -> None:
        number = int(fields["id"]) if "id" in fields else None
        with self._changed:
            self.events.append(Event(fields["event"], json.loads(fields["data"]), number))
            self._changed.notify_all()

    def wait_until(self, is_there: Callable[[list[Event]], bool]) -> None:
        """Wait until what was read satisfies `is_there`; fails when it does not in time."""
        with self._changed:
            seen = self._changed.wait_for(lambda: is_there(self.events) or self._ended, WAIT_SECONDS)
            assert seen, f"nothing of the kind came: {self.events}"
            assert is_there(self.events), f"the stream ended: {self.events}"

    def wait_for(self, name: str, count: int = 1) -> Event:
        """The `count`th event of that name."""
        self.wait_until(lambda events: sum(event.name == name for event in events) >= count)
        return [event for event in self.events if event.name == name][count - 1]

    def wait_end(self) -> list[Event]:
        """Every event, once the server has ended the stream."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended, WAIT_SECONDS), "the stream goes on"
        return self.events

    @property
    def names(self) -> list[str]:
        """The names of what was read so far."""
        return [event.name for event in self.events]

    @property
    def ids(self) -> list[int]:
        """The numbers of what was read so far."""
        return [event.id for event in self.events if event.id is not None]

    def leave(self) -> None:
        """Shut the connection and wait for the reading thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(WAIT_SECONDS)
        self._connection.close()
        self._socket.close()


def follow_session(base_url: str, session_id: str, query: str = "", **options: Any) -> Follower:
    """A reader of a session's feed."""
    return Follower(base_url, f"/v1/sessions/{session_id}/stream{query}", **options)


def stream_turn(base_url: str, session_id: str, message: str = "go", **body: Any) -> Follower:
    """A turn whose request is answered as a stream."""
    given = {"message": message, "stream": True, **body}
    return Follower(base_url, f"/v1/sessions/{session_id}/turn", body=given)

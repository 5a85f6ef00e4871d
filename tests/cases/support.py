"""What the cases share: servers whose model is on the loopback, readers of feeds, a look at /proc."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import requests
import urllib3

from meka.base.clock import SystemClock
from meka.config.places import STORE_FILE
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database
from tests.loopback_provider import LoopbackProvider, Received
from tests.serving import CONFIG, Client, Event, Server

WAIT_SECONDS = 20.0
BACKENDS = ("anthropic-messages", "openai-chat-completions", "openai-responses")
INTERRUPTED = "The execution of this call was interrupted before it finished."

Message = Mapping[str, Any]


def wired_server(
    root: Path, upstream: LoopbackProvider, backend: str = BACKENDS[0], serve: str = "", more: str = ""
) -> Server:
    """A server, not started yet, whose one account is `upstream` and speaks `backend`'s wire to it."""
    text = CONFIG.format(serve=serve, more=more).replace(
        'backend = "openai-chat-completions"', f'backend = "{backend}"\nbase_url = "{upstream.base_url}"'
    )
    secret = {"api_key": "sk-test"}
    with Database.open(root / "data" / STORE_FILE, clock=SystemClock()) as store:
        store.write(lambda tx: credentials.put(tx, "mock", CredentialKind.API_KEY, secret))
    return Server(root, config=text, environ={"MEKA_MOCK_PROVIDER": ""})


def slug(answer: requests.Response) -> str:
    """The kind of problem an answer is."""
    return str(answer.json()["type"].rpartition("/")[2])


def turns_of(client: Client, session_id: str) -> list[dict[str, Any]]:
    """A session's turn records, oldest first."""
    found: list[dict[str, Any]] = client.call(
        "GET", f"/v1/sessions/{session_id}/turns", params={"limit": 200}
    ).json()["turns"]
    return found[::-1]


def detach(client: Client, session_id: str, message: str = "go") -> str:
    """A detached turn's id."""
    answer = client.turn(session_id, message, detach=True)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def cancel(client: Client, session_id: str, turn_id: str | None = None) -> requests.Response:
    """What POST /cancel answers."""
    body = {} if turn_id is None else {"turn_id": turn_id}
    return client.call("POST", f"/v1/sessions/{session_id}/cancel", json=body)


# History


def kinds(history: Sequence[Message]) -> list[tuple[str, tuple[str, ...]]]:
    """Role and block types of each message."""
    return [(each["role"], tuple(block["type"] for block in each["content"])) for each in history]


def words(history: Sequence[Message]) -> list[str]:
    """The text blocks, in order."""
    return [block["text"] for each in history for block in each["content"] if block["type"] == "text"]


def results(message: Message) -> list[tuple[str, bool, str]]:
    """Id, failure and text of each tool result of a message."""
    return [
        (block["tool_use_id"], block["is_error"], "".join(item.get("text", "") for item in block["content"]))
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def check_pairs(history: Sequence[Message]) -> None:
    """Roles alternate, and each call has its one result in the next message, in call order."""
    roles = [each["role"] for each in history]
    assert all(first != second or first == "user" for first, second in pairwise(roles))
    following = [*history[1:], {"content": []}]
    for message, after in zip(history, following, strict=True):
        calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert calls == [found[0] for found in results(after)], (message, after)


def sent_pairs(received: Received) -> list[str]:
    """The ids of the calls a request to a model holds, each checked to have its one result right after."""
    body = received.body
    if received.path.endswith("/messages"):
        steps = [_anthropic_step(message) for message in body["messages"]]
    elif received.path.endswith("/responses"):
        steps = [_responses_step(item) for item in body["input"]]
    else:
        steps = [_chat_step(message) for message in body["messages"]]
    open_calls: list[str] = []
    seen: list[str] = []
    for calls, answered in steps:
        for call_id in answered:
            assert call_id in open_calls, f"a result without its call: {call_id}"
            open_calls.remove(call_id)
        assert not open_calls or not (calls or not answered) or received.path.endswith("/responses")
        open_calls += calls
        seen += calls
    assert open_calls == []
    return seen


def _anthropic_step(message: Message) -> tuple[list[str], list[str]]:
    content = message["content"] if isinstance(message["content"], list) else []
    return (
        [block["id"] for block in content if block["type"] == "tool_use"],
        [block["tool_use_id"] for block in content if block["type"] == "tool_result"],
    )


def _responses_step(item: Message) -> tuple[list[str], list[str]]:
    kind = item.get("type")
    return (
        [item["call_id"]] if kind == "function_call" else [],
        [item["call_id"]] if kind == "function_call_output" else [],
    )


def _chat_step(message: Message) -> tuple[list[str], list[str]]:
    return (
        [call["id"] for call in message.get("tool_calls") or ()],
        [message["tool_call_id"]] if message["role"] == "tool" else [],
    )


# Waiting


def eventually(holds: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Look again, a few times a second, until it holds; for what tells nobody of its change."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < until, f"never: {what}"
        pause.wait(0.02)


def read_batches(response: requests.Response) -> Iterator[list[Event]]:
    """The events of a stream as they come, read fast enough that the reader is never the slow one."""
    rest = b""
    while piece := response.raw.read1(1 << 18):
        *blocks, rest = (rest + piece).split(b"\n\n")
        yield [event for block in blocks if (event := _event(block)) is not None]


def _event(block: bytes) -> Event | None:
    fields = dict(line.partition(": ")[::2] for line in block.decode().split("\n"))
    if "event" not in fields:
        return None
    return Event(fields["event"], json.loads(fields["data"]), int(fields["id"]) if "id" in fields else None)


class Feed:
    """A session's feed (or, without a session, the server's), read by a thread; `events` holds what came."""

    def __init__(self, client: Client, session_id: str | None, **options: Any) -> None:
        path = "/v1/stream" if session_id is None else f"/v1/sessions/{session_id}/stream"
        self._response = client.call("GET", path, stream=True, timeout=(10, 90), **options)
        assert self._response.status_code == 200, self._response.text
        self.events: list[Event] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        raw = self._response.raw
        if raw is not None and raw._fp is not None and raw._fp.fp is not None:
            raw._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._response.close()

    def _read(self) -> None:
        try:
            for events in read_batches(self._response):
                with self._changed:
                    self.events.extend(events)
                    self._changed.notify_all()
        except (requests.RequestException, HTTPException, urllib3.exceptions.HTTPError, OSError, ValueError):
            return

    def wait_for(self, name: str, count: int = 1, seconds: float = WAIT_SECONDS) -> Event:
        """The `count`-th event of that name."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.names().count(name) >= count, seconds), (
                f"no {name} came: {self.names()[-20:]}"
            )
            return [event for event in self.events if event.name == name][count - 1]

    def names(self) -> list[str]:
        """The events' names, in order."""
        return [event.name for event in list(self.events)]


# Processes


def processes_with(marker: str) -> list[int]:
    """The processes whose command line holds `marker`, this one and those that ended apart."""
    return [pid for pid in _pids() if pid != os.getpid() and marker.encode() in _command_line(pid)]


def children_of(parent: int) -> list[int]:
    """A process's direct children, zombies included."""
    return [pid for pid in _pids() if _parent(pid) == parent]


def resident_bytes(pid: int) -> int:
    """What a process holds in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors_of(pid: int) -> int:
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


# Raw HTTP


def raw_request(base_url: str, request: bytes, seconds: float = 10.0) -> socket.socket:
    """A connection on which `request` was sent; the caller reads and closes it."""
    host, _, port = base_url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), seconds)
    connection.sendall(request)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side closes, or breaks, the connection."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)

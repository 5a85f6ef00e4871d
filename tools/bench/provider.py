"""A model provider for measurements, in a process of its own: it costs as little as it can and times itself.

`python -m tools.bench.provider` prints its port. The last user message says how to answer:

    deltas N    N deltas, each in a chunk and a send of its own
    burst N     N deltas in one send
    stamp       one delta that holds the monotonic nanoseconds of its sending, then a pause, then the end
    ticks N R   N deltas, R of them a second, each with the monotonic nanoseconds of its sending
    short       a few words
    hang        one delta, then silence until the client leaves
    search P    a call of `file_search` for the pattern P; once its result is there, a few words
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import gevent
from gevent.server import StreamServer

STAMP_PAUSE_SECONDS = 0.02
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_LIVE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" + b'{"status":"ok"}'
)
_LAST = b"0\r\n\r\n"
_WORD = "measure "


def _frame(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


_DELTA = _frame({"content": _WORD})
_DELTA_CHUNK = _chunk(_DELTA)
_STOP = _frame({}, "stop") + b"data: [DONE]\n\n"
_END = _chunk(_STOP) + _LAST
_CALL_END = _chunk(_frame({}, "tool_calls") + b"data: [DONE]\n\n") + _LAST


def _deltas(connection: Any, argument: str) -> None:
    connection.sendall(_HEAD)
    for _ in range(int(argument)):
        connection.sendall(_DELTA_CHUNK)
    connection.sendall(_END)


def _burst(connection: Any, argument: str) -> None:
    connection.sendall(_HEAD + _chunk(_DELTA * int(argument) + _STOP) + _LAST)


def _stamp(connection: Any, _argument: str) -> None:
    connection.sendall(_HEAD + _chunk(_frame({"content": f"at {time.monotonic_ns()}"})))
    gevent.sleep(STAMP_PAUSE_SECONDS)
    connection.sendall(_END)


def _ticks(connection: Any, argument: str) -> None:
    count, rate = map(int, argument.split())
    connection.sendall(_HEAD)
    due = time.monotonic()
    for _ in range(count):
        gevent.sleep(max(0.0, due - time.monotonic()))
        connection.sendall(_chunk(_frame({"content": f"at {time.monotonic_ns()}"})))
        due += 1 / rate
    connection.sendall(_END)


def _short(connection: Any, _argument: str) -> None:
    connection.sendall(_HEAD + _chunk(_DELTA * 5 + _STOP) + _LAST)


def _hang(connection: Any, _argument: str) -> None:
    connection.sendall(_HEAD + _DELTA_CHUNK)
    connection.recv(1)


def _search(connection: Any, argument: str) -> None:
    function = {"name": "file_search", "arguments": json.dumps({"pattern": argument})}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    connection.sendall(_HEAD + _chunk(_frame({"tool_calls": [call]})) + _CALL_END)


_ANSWERS: Mapping[str, Callable[[Any, str], None]] = {
    "deltas": _deltas,
    "burst": _burst,
    "stamp": _stamp,
    "ticks": _ticks,
    "short": _short,
    "hang": _hang,
    "search": _search,
}


def _told(body: Mapping[str, Any]) -> tuple[str, str]:
    """What the request asks for, as (answer, argument)."""
    last = body["messages"][-1]
    if last["role"] != "user":
        return "short", ""
    content = last["content"]
    words = content if isinstance(content, str) else content[-1]["text"]
    name, _, argument = words.rpartition("\n")[2].partition(" ")
    return (name, argument) if name in _ANSWERS else ("short", "")


def _read_request(connection: Any, held: bytes) -> tuple[bytes, bytes] | None:
    """A request's body, and what came after it; None at the end of the connection."""
    while b"\r\n\r\n" not in held:
        piece = connection.recv(65536)
        if not piece:
            return None
        held += piece
    head, _, rest = held.partition(b"\r\n\r\n")
    size = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    while len(rest) < size:
        piece = connection.recv(262144)
        if not piece:
            return None
        rest += piece
    return rest[:size], rest[size:]


def _serve(connection: Any, _address: object) -> None:
    connection.setsockopt(6, 1, 1)  # TCP_NODELAY
    held = b""
    try:
        while (request := _read_request(connection, held)) is not None:
            body, held = request
            if not body:
                connection.sendall(_LIVE)
                continue
            name, argument = _told(json.loads(body))
            _ANSWERS[name](connection, argument)
    except OSError:
        return


def main() -> None:
    """Serve until the process is told to end."""
    server = StreamServer(("127.0.0.1", 0), _serve, backlog=4096)
    server.start()
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

"""Server-sent events, decoded from bytes without I/O, and the JSON that providers put into them."""

import json
import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from meka.base.text import scrub_tree

MAX_EVENT_BYTES = 64 * 1024 * 1024
DONE = "[DONE]"

_BOM = b"\xef\xbb\xbf"
_log = logging.getLogger(__name__)


class EventTooLargeError(Exception):
    """One event passed the bound; nothing more can be read of this stream."""


class Frame(NamedTuple):
    """One data-bearing event: the value of its `event` line ("" without one) and its joined data lines."""

    event: str
    data: str


class SseDecoder:
    """Bytes in, frames out; lines end in LF, CR or CRLF, and may be cut anywhere between two calls."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._line: list[bytes] = []  # the pieces of a line whose end has not come yet
        self._data: list[str] = []
        self._event = ""
        self._size = 0  # bytes held for the event being read
        self._skip_lf = False  # a CR ended the last chunk: an LF that follows belongs to it
        self._at_start = True

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The frames that `chunk` completes. Raises: EventTooLargeError."""
        if not chunk:
            return
        ends_in_cr = chunk.endswith(b"\r")
        if self._skip_lf:
            chunk = chunk.removeprefix(b"\n")
        self._skip_lf = ends_in_cr
        for piece in chunk.splitlines(keepends=True):
            self._count(len(piece))
            self._line.append(piece)
            if piece.endswith((b"\n", b"\r")):
                frame = self._end_line()
                if frame is not None:
                    yield frame

    def finish(self) -> Iterator[Frame]:
        """The frame that the end of the stream left without its blank line, if any."""
        for frame in (self._end_line() if self._line else None, self._dispatch()):
            if frame is not None:
                yield frame

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise EventTooLargeError

    def _end_line(self) -> Frame | None:
        """Take a whole line in; the frame, where the line ends one."""
        whole = self._line[0] if len(self._line) == 1 else b"".join(self._line)
        line = whole.rstrip(b"\r\n")
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            self._size -= len(whole)  # a comment is not held
        else:
            self._take_field(line.decode("utf-8", "replace"))
        return None

    def _take_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value

    def _dispatch(self) -> Frame | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        return Frame(event, "\n".join(data)) if data else None


class Payload(NamedTuple):
    """The JSON object of one frame under its name; the end mark of OpenAI's streams is named `[DONE]`."""

    name: str
    body: dict[str, Any]


def read_payload(frame: Frame) -> Payload | None:
    """What `frame` says, or None (and a warning) where its data is no JSON object.

    The name is the object's own `type` where it has one, since gateways drop one or the other.
    """
    if frame.data.strip() == DONE:
        return Payload(DONE, {})
    try:
        body = json.loads(frame.data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        _log.warning("skipped an unreadable event of a provider's stream (%d characters)", len(frame.data))
        return None
    if "\\u" in frame.data:  # only an escape can have brought what is scrubbed
        body = scrub_tree(body)
    kind = body.get("type")
    return Payload(kind if isinstance(kind, str) and kind else frame.event, body)

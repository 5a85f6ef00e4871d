"""Server-sent events, decoded from bytes without I/O, and the JSON that providers put into them."""

import json
import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from meka.base.text import scrub_tree

MAX_EVENT_BYTES = 64 * 1024 * 1024
DONE = "[DONE]"

_LINE_ENDS = (b"\n", b"\r")
_BOM = b"\xef\xbb\xbf"
_JSON = json.JSONDecoder()
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
            self._size += len(piece)
            if self._size > self._limit:
                raise EventTooLargeError
            if not piece.endswith(_LINE_ENDS):
                self._line.append(piece)
                continue
            frame = self._end_line(piece)
            if frame is not None:
                yield frame

    def finish(self) -> Iterator[Frame]:
        """The frame that the end of the stream left without its blank line, if any."""
        for frame in (self._end_line(b"") if self._line else None, self._dispatch()):
            if frame is not None:
                yield frame

    def _end_line(self, whole: bytes) -> Frame | None:
        """Take a line in whose last piece is `whole`; the frame, where the line ends one."""
        if self._line:
            whole = b"".join((*self._line, whole))
            self._line.clear()
        line = whole.rstrip(b"\r\n")
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b"data: "):
            self._data.append(line[6:].decode("utf-8", "replace"))
        elif line.startswith(b":"):
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
        if not data:
            return None
        return Frame(event, data[0] if len(data) == 1 else "\n".join(data))


class Payload(NamedTuple):
    """The JSON object of one frame under its name; the end mark of OpenAI's streams is named `[DONE]`."""

    name: str
    body: dict[str, Any]


def _read_object(text: str) -> Any:
    """`json.loads`, without its two looks for whitespace where there is none. Raises: ValueError."""
    if not text.startswith("{"):
        return json.loads(text)
    value, end = _JSON.raw_decode(text)
    return value if end == len(text) else json.loads(text)


def read_payload(frame: Frame) -> Payload | None:
    """What `frame` says, or None (and a warning) where its data is no JSON object.

    The name is the object's own `type` where it has one, since gateways drop one or the other.
    """
    if not frame.data.startswith("{") and frame.data.strip() == DONE:
        return Payload(DONE, {})
    try:
        body = _read_object(frame.data)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        _log.warning("skipped an unreadable event of a provider's stream (%d characters)", len(frame.data))
        return None
    if "\\u" in frame.data:  # only an escape can have brought what is scrubbed
        body = scrub_tree(body)
    kind = body.get("type")
    return Payload(kind if isinstance(kind, str) and kind else frame.event, body)

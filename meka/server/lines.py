"""The lines of a request's head: read strictly, one by one; looked through once the head is refused."""

import re
from collections.abc import Sequence
from typing import Protocol

from meka.server.refusals import ProtocolError

Field = tuple[str, str]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_SKIMMED_LINES = 200
_SKIMMED_LINE_BYTES = 65536


class LineReader(Protocol):
    """The part of a buffered binary stream that a head is read from."""

    def readline(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, up to a line feed."""


class ConnectionEndedError(Exception):
    """The client closed the connection where a request, or the rest of one, was due."""


class HeadLines:
    """One head as it arrives; `fields` are those that came so far, names in lower case."""

    def __init__(self, stream: LineReader) -> None:
        self.fields: list[Field] = []
        self._stream = stream
        self._within_line = False
        self._ended = False

    def read(self, limit: int, too_long: ProtocolError) -> str:
        """The next line without its end. Raises: ProtocolError, ConnectionEndedError."""
        raw = self._next(limit + 2)
        if not raw.endswith(b"\n"):
            if len(raw) >= limit + 2:
                raise too_long
            raise ConnectionEndedError
        if not raw.endswith(b"\r\n"):
            raise ProtocolError(400, "a line of the request's head does not end with CR LF")
        return raw[:-2].decode("latin-1")

    def read_field(self, limit: int, too_long: ProtocolError) -> int:
        """Add the next field; answers the length of its line, 0 at the head's end."""
        line = self.read(limit, too_long)
        if line:
            self.fields.append(parse_field(line))
        self._ended = not line
        return len(line)

    def skim(self) -> None:
        """Add the fields of a refused head that are still to come, as far as they are well formed.

        A browser sends its `Origin` behind most other fields, so behind the one that is at fault, too.
        """
        for _ in range(_SKIMMED_LINES):
            if self._ended:
                return
            is_rest = self._within_line
            raw = self._next(_SKIMMED_LINE_BYTES)
            self._ended = raw in (b"", b"\r\n")
            if not is_rest and raw.endswith(b"\r\n") and not self._ended:
                self._keep_if_sound(raw)

    def _keep_if_sound(self, raw: bytes) -> None:
        try:
            self.fields.append(parse_field(raw[:-2].decode("latin-1")))
        except ProtocolError:
            """The head is refused already, and what is no field grants nothing."""

    def _next(self, limit: int) -> bytes:
        raw = self._stream.readline(limit)
        self._within_line = not raw.endswith(b"\n")
        return raw


def is_token(text: str) -> bool:
    """Whether `text` is what RFC 9110 calls a token."""
    return _TOKEN.fullmatch(text) is not None


def parse_field(line: str) -> Field:
    """A line as a field's name and value. Raises: ProtocolError."""
    if line[0] in " \t":
        raise ProtocolError(400, "a header field is folded over several lines")
    name, colon, value = line.partition(":")
    if not colon or not is_token(name):
        raise ProtocolError(400, "a header field's name is malformed")
    if not _VALUE.fullmatch(value):
        raise ProtocolError(400, f"the value of the header field '{name}' holds a control character")
    return name.lower(), value.strip(" \t")


def joined_value(fields: Sequence[Field], name: str) -> str | None:
    """The values of a field as one, as the application would get them; None where it was not sent."""
    values = [value for each, value in fields if each == name]
    return ", ".join(values) if values else None

"""A request's body as a stream: framing checked, bytes counted, no more of it read than was asked for."""

import io
import re
from collections.abc import Callable
from typing import Protocol

from meka.base.errors import InvalidBodyError, MekaError, PayloadTooLargeError
from meka.server.head import RequestHead

MAX_DRAIN_BYTES = 65536
_READ_BYTES = 65536
_MAX_CHUNK_LINE_BYTES = 1024
_MAX_TRAILER_BYTES = 8192
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")


class ByteReader(Protocol):
    """The part of a buffered binary stream that a body is read from."""

    def readline(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, up to a line feed."""

    def readinto1(self, buffer: memoryview, /) -> int:
        """What one read yields, put into `buffer`; 0 at the end."""


class RequestBody(io.RawIOBase):
    """The bytes after a head, up to `limit_bytes`.

    A read raises `PayloadTooLargeError` as soon as the body is known to be too large (before any of it is
    read, where the head says so), and `InvalidBodyError` (400) when it is malformed, cut short or stalls.
    `take_read` is asked before each read, and may let others run first.
    After that the connection holds bytes nobody understands, so `reusable` stays False.
    """

    def __init__(
        self,
        stream: ByteReader,
        head: RequestHead,
        limit_bytes: int,
        send_continue: Callable[[], None],
        take_read: Callable[[], None],
    ) -> None:
        super().__init__()
        self._stream = stream
        self._chunked = head.chunked
        self._left = head.content_length or 0
        self._limit_bytes = limit_bytes
        self._send_continue = send_continue
        self._take_read = take_read
        self._awaits_continue = head.expects_continue and head.has_body
        self._seen_bytes = 0
        self._ended = not head.has_body
        self._in_chunk = False
        self._failure: MekaError | None = None

    @property
    def ended(self) -> bool:
        """Whether all of the body was read."""
        return self._ended

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request once `drain` has read the little that is left."""
        if self._ended:
            return True
        if self._failure is not None or self._awaits_continue or self._chunked:
            return False
        return self._left <= MAX_DRAIN_BYTES

    def drain(self) -> bool:
        """Read the little the application left unread; say whether the connection can go on."""
        if not self.reusable:
            return False
        scratch = bytearray(_READ_BYTES)
        try:
            while self.readinto(scratch):
                pass
        except MekaError:
            return False
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        if self._failure is not None:
            raise self._failure
        try:
            return self._read_some(memoryview(buffer))
        except MekaError as error:
            self._failure = error
            raise
        except OSError as error:
            self._failure = InvalidBodyError("the request body did not arrive in time", status=400)
            raise self._failure from error

    def readall(self) -> bytes:
        whole = bytearray()
        piece = bytearray(_READ_BYTES)
        while count := self.readinto(piece):
            whole += memoryview(piece)[:count]
        return bytes(whole)

    def _read_some(self, buffer: memoryview) -> int:
        if self._ended or not len(buffer):
            return 0
        if not self._chunked:
            self._admit(self._seen_bytes + self._left)
        self._invite()
        self._take_read()
        if self._chunked and not self._left and not self._next_chunk():
            return 0
        count = self._stream.readinto1(buffer[: self._left])
        if not count:
            raise InvalidBodyError("the request body ends early", status=400)
        self._left -= count
        self._seen_bytes += count
        self._ended = not self._chunked and not self._left
        return count

    def _admit(self, total_bytes: int) -> None:
        if total_bytes > self._limit_bytes:
            raise PayloadTooLargeError(
                f"the request body exceeds {self._limit_bytes} bytes", max_body_bytes=self._limit_bytes
            )

    def _invite(self) -> None:
        if self._awaits_continue:
            self._awaits_continue = False
            self._send_continue()

    def _next_chunk(self) -> bool:
        """Begin the next chunk; False after the last one, whose trailers are read and dropped."""
        if self._in_chunk and self._stream.readline(2) != b"\r\n":
            raise InvalidBodyError("a chunk of the request body is longer than it says", status=400)
        line = _CHUNK_LINE.fullmatch(self._stream.readline(_MAX_CHUNK_LINE_BYTES))
        if line is None:
            raise InvalidBodyError("a chunk of the request body has no valid size", status=400)
        size = int(line.group(1), 16)
        self._admit(self._seen_bytes + size)
        self._left, self._in_chunk = size, True
        if size == 0:
            self._skip_trailers()
            self._ended = True
        return size > 0

    def _skip_trailers(self) -> None:
        room = _MAX_TRAILER_BYTES
        while (line := self._stream.readline(room)) != b"\r\n":
            room -= len(line)
            if not line.endswith(b"\r\n") or b":" not in line or room <= 0:
                raise InvalidBodyError("the trailers of the request body are malformed", status=400)

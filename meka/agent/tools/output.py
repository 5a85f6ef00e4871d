"""What a command prints: kept apart by stream and bounded, and told on as it comes, a few times a second."""

import codecs
from collections.abc import Callable
from enum import StrEnum

CAP_BYTES = 64 * 1024 * 1024
EMIT_SECONDS = 0.15
_EMIT_CHARACTERS = 256 * 1024


class Stream(StrEnum):
    """The two streams of a command."""

    STDOUT = "stdout"
    STDERR = "stderr"


class Output:
    """The text of both streams, decoded as it comes (invalid UTF-8 and NUL become U+FFFD)."""

    def __init__(self, emit: Callable[[str], None], monotonic: Callable[[], float]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: decoder("replace") for stream in Stream}
        self._pieces: dict[Stream, list[str]] = {stream: [] for stream in Stream}
        self._emit = emit
        self._monotonic = monotonic
        self._pending: list[str] = []
        self._pending_characters = 0
        self._due_at = monotonic()
        self._room_bytes = CAP_BYTES

    @property
    def overflowed(self) -> bool:
        """Whether more came than is kept."""
        return self._room_bytes < 0

    def feed(self, stream: Stream, data: bytes) -> None:
        """Take in what was read from `stream`; past the cap it is dropped."""
        kept = data[: max(0, self._room_bytes)]
        self._room_bytes -= len(data)
        self._add(stream, self._decoders[stream].decode(kept))

    def close(self, stream: Stream) -> None:
        """The stream has ended, perhaps within a character."""
        self._add(stream, self._decoders[stream].decode(b"", final=True))

    def text(self, stream: Stream) -> str:
        """All that `stream` printed."""
        return "".join(self._pieces[stream])

    def seconds_until_due(self) -> float | None:
        """How long until pending text should be told on, None when there is none."""
        return max(0.0, self._due_at - self._monotonic()) if self._pending else None

    def emit_due(self) -> None:
        """Tell on what is pending when its time has come, or when it has grown large."""
        if self._monotonic() >= self._due_at or self._pending_characters >= _EMIT_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Tell on whatever is pending."""
        if not self._pending:
            return
        chunk = "".join(self._pending)
        self._pending.clear()
        self._pending_characters = 0
        self._due_at = self._monotonic() + EMIT_SECONDS
        self._emit(chunk)

    def _add(self, stream: Stream, text: str) -> None:
        if not text:
            return
        text = text.replace("\x00", "\ufffd")
        self._pieces[stream].append(text)
        self._pending.append(text)
        self._pending_characters += len(text)

"""Server-sent events as bytes arrive, cut anywhere: a decoder without I/O."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it was sent; `id` is None where it had none."""

    name: str
    data: str
    id: str | None = None


@dataclass(slots=True)
class SseDecoder:
    """Decodes one connection's bytes; what is incomplete when it ends was never sent.

    `retry_seconds` is the pause before reconnecting that the server asked for last.
    """

    retry_seconds: float | None = None
    _rest: bytes = b""
    _skips_newline: bool = False
    _is_first: bool = True
    _name: str = ""
    _data: list[str] = field(default_factory=list)
    _id: str | None = None

    def feed(self, chunk: bytes) -> list[Frame]:
        """The events that `chunk` completes."""
        frames = []
        for line in self._lines(chunk):
            if line:
                self._take(line.decode("utf-8", "replace"))
            elif (frame := self._finish()) is not None:
                frames.append(frame)
        return frames

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete, whichever way they end. A CRLF may be cut in its middle."""
        if self._skips_newline and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skips_newline = False
        if not chunk:
            return []
        text = self._rest + chunk
        self._skips_newline = chunk.endswith(b"\r")
        *lines, self._rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines and self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        return lines

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = int(value) / 1000

    def _finish(self) -> Frame | None:
        frame = Frame(self._name or "message", "\n".join(self._data), self._id) if self._data else None
        self._name, self._data, self._id = "", [], None
        return frame

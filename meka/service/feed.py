"""A feed: events encoded once into a ring, and one cursor a reader.

Numbered events rise by one and may be replayed. A reader is never sent an event twice and never skips one
silently: what the ring let go before the reader came to it is a `feed.gap`. Unnumbered events (progress) go
past the ring, into a small queue of each reader that drops its oldest when full. Events larger than the
ring's bytes reach the readers that are there and are lost to replay alone.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, NamedTuple

import gevent
from gevent.event import Event

LIVE_WINDOW_EVENTS = 256
RING_BYTES = 8 * 1024 * 1024
_YIELD_BEHIND = 128
_SIDE_EVENTS = 64
_BATCH_BYTES = 64 * 1024


# Made once: json.dumps makes an encoder a call where it is given options.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


class Frame(NamedTuple):
    """One event as it goes over the wire. `id` is None for events that are never replayed."""

    id: int | None
    name: str
    turn_id: str | None
    data: bytes
    is_terminal: bool = False


def encode_frame(name: str, payload: Mapping[str, Any], event_id: int | None = None) -> bytes:
    """An event in SSE's form; the payload on one line."""
    head = f"event: {name}\n" if event_id is None else f"event: {name}\nid: {event_id}\n"
    return f"{head}data: {_encode(payload)}\n\n".encode()


def _encode(payload: Mapping[str, Any]) -> str:
    """As JSON on one line; a flat one of texts, which a delta is, in half the encoder's time."""
    members = []
    for name, value in payload.items():
        if type(value) is not str:
            return _ENCODER.encode(payload)
        members.append(f"{encode_basestring(name)}:{encode_basestring(value)}")
    return f"{{{','.join(members)}}}"


class Reader:
    """One reader's place in a feed. `frames()` waits for what comes next."""

    def __init__(
        self,
        feed: "Feed",
        position: int,
        opening: Iterable[bytes] = (),
        turn_id: str | None = None,
    ) -> None:
        self._feed = feed
        self.position = position
        self._opening = deque(opening)
        self._side: deque[tuple[int, Frame]] = deque(maxlen=_SIDE_EVENTS)
        self._turn_id = turn_id
        self._ready = Event()
        self._ended = False
        self._has_terminal = False
        self.is_sending = False
        """Whether the last batch is still being written: a reader is slow only while its socket is."""

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """What the reader has not had yet, as whole frames; [] when nothing came in time, None at the end."""
        self.is_sending = False
        batch = self._take()
        if not batch and not self._ended:
            self._ready.clear()
            self._ready.wait(timeout_seconds)
            batch = self._take()
        if not batch and self._ended:
            return None
        self.is_sending = bool(batch)
        return batch

    def wake(self) -> None:
        """There may be something to read."""
        if not self._ready.is_set():
            self._ready.set()

    def pass_by(self, frame: Frame) -> None:
        """Hand over an unnumbered event, in its place after the newest numbered one."""
        if self._turn_id in (None, frame.turn_id):
            self._side.append((self._feed.next_id, frame))
            self._ready.set()

    def end(self) -> None:
        """No more events: the reader ends once it has had what is there."""
        self._ended = True
        self._ready.set()

    def close(self) -> None:
        """Leave the feed. May be called more than once."""
        self._feed.detach(self)
        self.end()

    def _take(self) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        while self._opening:
            batch.append(self._opening.popleft())
        while size < _BATCH_BYTES and not self._has_terminal:
            frame = self._next_frame(batch)
            if frame is None:
                break
            batch.append(frame.data)
            size += len(frame.data)
            if frame.is_terminal and self._turn_id is not None:
                self._has_terminal = self._ended = True
        return batch

    def _next_frame(self, batch: list[bytes]) -> Frame | None:
        while True:
            if self._side and self._side[0][0] <= self.position:
                return self._side.popleft()[1]
            frame, dropped = self._feed.frame_at(self.position)
            if dropped:
                batch.append(self._feed.gap(dropped))
                self.position += dropped
                continue
            if frame is None:
                return None
            self.position += 1
            if self._turn_id in (None, frame.turn_id):
                return frame


class Feed:
    """The events of one session (or of the server), in order.

    `first_id` is the id of the first event; `replay_events` how many a reader that comes back may be given.
    `base` is what every payload carries (the session's id). `observers` see each event as it is published.
    """

    def __init__(self, first_id: int, replay_events: int, base: Mapping[str, Any]) -> None:
        self.next_id = first_id
        self._replay_events = replay_events
        self._kept = max(replay_events, LIVE_WINDOW_EVENTS)
        self._ring: deque[Frame] = deque()
        self._ring_bytes = 0
        self._base = dict(base)
        self._readers: set[Reader] = set()
        self.observers: list[Callable[[str, Mapping[str, Any]], None]] = []

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    def publish(
        self, name: str, payload: Mapping[str, Any], turn_id: str | None = None, *,
        numbered: bool = True, terminal: bool = False,
    ) -> None:  # fmt: skip
        """Send one event to every reader. Yields to the hub while a reader that could read is far behind."""
        shown = {**payload, **self._base}
        if None in shown.values():
            shown = {key: value for key, value in shown.items() if value is not None}
        if turn_id is not None:
            shown["turn_id"] = turn_id
        if numbered:
            self._keep(Frame(self.next_id, name, turn_id, encode_frame(name, shown, self.next_id), terminal))
            for reader in self._readers:
                reader.wake()
        else:
            frame = Frame(None, name, turn_id, encode_frame(name, shown))
            for reader in self._readers:
                reader.pass_by(frame)
        for observer in self.observers:
            observer(name, shown)
        self._let_readers_catch_up()

    def _keep(self, frame: Frame) -> None:
        self.next_id += 1
        self._ring.append(frame)
        self._ring_bytes += len(frame.data)
        while len(self._ring) > self._kept or (self._ring_bytes > RING_BYTES and len(self._ring) > 1):
            self._ring_bytes -= len(self._ring.popleft().data)

    def _let_readers_catch_up(self) -> None:
        for reader in self._readers:
            if not reader.is_sending and self.next_id - reader.position >= _YIELD_BEHIND:
                gevent.sleep(1e-6)
                return

    def frame_at(self, position: int) -> tuple[Frame | None, int]:
        """The frame numbered `position`, or how many the ring let go from there on."""
        if position >= self.next_id:
            return None, 0
        oldest = self.next_id - len(self._ring)
        if position < oldest:
            return None, oldest - position
        return self._ring[position - oldest], 0

    def gap(self, dropped: int | None) -> bytes:
        """The event that names a hole."""
        payload = dict(self._base) if dropped is None else {"dropped": dropped, **self._base}
        return encode_frame("feed.gap", payload)

    def attach(self, turn_id: str | None = None) -> Reader:
        """A reader of what is published from now on, of one turn alone where `turn_id` is given."""
        reader = Reader(self, self.next_id, turn_id=turn_id)
        self._readers.add(reader)
        return reader

    def detach(self, reader: Reader) -> None:
        """Forget a reader."""
        self._readers.discard(reader)

    def end(self) -> None:
        """End every reader, once it has had what is there."""
        for reader in tuple(self._readers):
            reader.end()

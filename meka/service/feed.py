"""A feed: events encoded once into a ring, and one cursor a reader.

Numbered events rise by one and may be replayed. A reader is never sent an event twice and never skips one
silently: what the ring let go before the reader came to it is a `feed.gap`. Unnumbered events (progress) go
past the ring, into a small queue of each reader that drops its oldest when full. Events larger than the
ring's bytes reach the readers that are there and are lost to replay alone.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """One event as it goes over the wire. `id` is None for events that are never replayed; `request_id` names
    the prompt that an event puts to a person, which is replayed only while it is parked."""

    id: int | None
    name: str
    turn_id: str | None
    data: bytes
    is_terminal: bool = False
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What a reader that joins is told before it follows the ring from `position` on."""

    frames: tuple[bytes, ...]
    position: int


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
    """One reader's place in a feed. `next_frames` waits for what comes next.

    A reader with a `turn_id` is sent that turn alone and ends with it. `on_lag` is called, once, when the ring
    lets go of what the reader has not had and it is the only one; the reader then ends with `lagged`.
    """

    def __init__(
        self,
        feed: "Feed",
        opening: Opening,
        turn_id: str | None = None,
        on_lag: Callable[[], None] | None = None,
    ) -> None:
        self._feed = feed
        self.position = opening.position
        self._replay_until = feed.next_id
        self._opening = deque(opening.frames)
        self._side: deque[tuple[int, Frame]] = deque(maxlen=_SIDE_EVENTS)
        self._turn_id = turn_id
        self._on_lag = on_lag
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

    def lag(self, last: bytes) -> None:
        """The ring let go of what this reader has not had: it ends with `last`, and whoever runs for it stops."""
        if self._on_lag is None:
            return
        told, self._on_lag = self._on_lag, None
        self._opening.append(last)
        self.end()
        told()

    @property
    def stops_on_lag(self) -> bool:
        """Whether the turn it reads is run for it alone."""
        return self._on_lag is not None

    def end(self) -> None:
        """No more events: the reader ends once it had what is there."""
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
            if self._is_for_me(frame):
                return frame

    def _is_for_me(self, frame: Frame) -> bool:
        if self._turn_id not in (None, frame.turn_id):
            return False
        is_replay = frame.id is not None and frame.id < self._replay_until
        return not is_replay or frame.request_id is None or self._feed.is_parked(frame.request_id)


class Feed:
    """The events of one session (or of the server), in order.

    `first_id` is the id of the first event; `replay_events` how many a reader that comes back may be given.
    `base` is what every payload carries (the session's id). `observers` see each event as it is published.
    """

    def __init__(self, first_id: int, replay_events: int, base: Mapping[str, Any]) -> None:
        self.first_id = first_id
        self.next_id = first_id
        self._replay_events = replay_events
        self._kept = max(replay_events, LIVE_WINDOW_EVENTS)
        self._ring: deque[Frame] = deque()
        self._ring_bytes = 0
        self._base = dict(base)
        self._readers: set[Reader] = set()
        self.last_terminal: Frame | None = None
        self.is_parked: Callable[[str], bool] = lambda _request_id: False
        self.lagged: Callable[[], bytes] = lambda: b""
        self.observers: list[Callable[[str, Mapping[str, Any]], None]] = []

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def oldest_id(self) -> int:
        """The id of the oldest event that is still there for a reader who is live."""
        return self.next_id - len(self._ring)

    @property
    def oldest_replayed_id(self) -> int:
        """The id of the oldest event that a reader who comes back is given."""
        return max(self.oldest_id, self.next_id - self._replay_events)

    def publish(
        self,
        name: str,
        payload: Mapping[str, Any],
        turn_id: str | None = None,
        *,
        numbered: bool = True,
        terminal: bool = False,
        request_id: str | None = None,
    ) -> int | None:
        """Send one event to every reader. Yields to the hub while a reader that could read is far behind.

        Shape: the event's id, where it has one.
        """
        shown = {**payload, **self._base}
        if None in shown.values():
            shown = {key: value for key, value in shown.items() if value is not None}
        if turn_id is not None:
            shown["turn_id"] = turn_id
        event_id = self.next_id if numbered else None
        frame = Frame(event_id, name, turn_id, encode_frame(name, shown, event_id), terminal, request_id)
        self._send(frame)
        for observer in self.observers:
            observer(name, shown)
        self._let_readers_catch_up()
        return event_id

    def _send(self, frame: Frame) -> None:
        if frame.id is None:
            for reader in self._readers:
                reader.pass_by(frame)
            return
        self._keep(frame)
        if frame.is_terminal:
            self.last_terminal = frame
        for reader in self._readers:
            reader.wake()

    def _keep(self, frame: Frame) -> None:
        self.next_id += 1
        self._ring.append(frame)
        self._ring_bytes += len(frame.data)
        while len(self._ring) > self._kept or (self._ring_bytes > RING_BYTES and len(self._ring) > 1):
            self._ring_bytes -= len(self._ring.popleft().data)
        if len(self._readers) == 1:
            (sole,) = self._readers
            if sole.stops_on_lag and sole.position < self.oldest_id:
                sole.lag(self.lagged())

    def _let_readers_catch_up(self) -> None:
        for reader in self._readers:
            if not reader.is_sending and self.next_id - reader.position >= _YIELD_BEHIND:
                gevent.sleep(1e-6)
                return

    def frame_at(self, position: int) -> tuple[Frame | None, int]:
        """The frame numbered `position`, or how many the ring let go from there on."""
        if position >= self.next_id:
            return None, 0
        oldest = self.oldest_id
        if position < oldest:
            return None, oldest - position
        return self._ring[position - oldest], 0

    def encode(self, name: str, payload: Mapping[str, Any], turn_id: str | None = None) -> bytes:
        """An event without a number, for one reader alone."""
        shown = {**payload, **self._base}
        return encode_frame(name, shown if turn_id is None else {**shown, "turn_id": turn_id})

    def gap(self, dropped: int | None) -> bytes:
        """The event that names a hole."""
        return self.encode("feed.gap", {} if dropped is None else {"dropped": dropped})

    def live(self) -> Opening:
        """An opening for a reader of what is published from now on."""
        return Opening((), self.next_id)

    def rejoin(self, last_event_id: str | None) -> Opening:
        """An opening for a reader that had everything up to `last_event_id`, or nothing yet.

        A position that was never issued here is a gap of unknown size, and the whole ring.
        """
        oldest = self.oldest_replayed_id
        if last_event_id is None:
            return Opening((), oldest)
        had = self.issued(last_event_id)
        if had is None:
            return Opening((self.gap(None), *self._held_over(self.first_id, oldest)), oldest)
        if had + 1 >= oldest:
            return Opening((), had + 1)
        return Opening((self.gap(oldest - had - 1), *self._held_over(had + 1, oldest)), oldest)

    def issued(self, text: str | None) -> int | None:
        """The number of an event that was issued here, of what a client sent as one."""
        if text is None or not text.isascii() or not text.isdigit() or len(text) > 20:
            return None
        number = int(text)
        return number if self.first_id <= number < self.next_id else None

    def _held_over(self, position: int, oldest: int) -> tuple[bytes, ...]:
        """The last turn's ending, where the hole swallowed it."""
        last = self.last_terminal
        if last is None or last.id is None or not position <= last.id < oldest:
            return ()
        return (last.data,)

    def attach(
        self, opening: Opening, *, turn_id: str | None = None, on_lag: Callable[[], None] | None = None
    ) -> Reader:
        """A reader that is told `opening` first, of one turn alone where `turn_id` is given."""
        reader = Reader(self, opening, turn_id, on_lag)
        self._readers.add(reader)
        return reader

    def detach(self, reader: Reader) -> None:
        """Forget a reader."""
        self._readers.discard(reader)

    def end(self) -> None:
        """End every reader, once it has had what is there."""
        for reader in tuple(self._readers):
            reader.end()

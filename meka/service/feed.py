"""A feed: events encoded once into a ring, and one cursor a reader.

Numbered events rise by one and may be replayed. A reader is never sent an event twice and never skips one
silently: what the ring let go before the reader came to it is a `feed.gap`, followed by what must not be lost
in a hole: the last turn's ending, and the prompts that are still parked. Events without a number (progress)
go past the ring. An event larger than the ring reaches the readers that are there, and only replay loses it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gevent

from meka.base.errors import MekaError, SseLagError, StreamDetachedError, problem_of
from meka.service.frames import RING_BYTES, Frame, Opening, Ring, encode_frame, encode_payload
from meka.service.reader import Reader

LIVE_WINDOW_EVENTS = 256
_YIELD_BEHIND = 128
_YIELD_BYTES = RING_BYTES // (2 * LIVE_WINDOW_EVENTS)
_YIELD_TO_SENDERS_EVERY = 32
_LONGEST_ID = 20

Observer = Callable[[str, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt that is parked: the event that asked, and a copy of it without a number."""

    frame: Frame
    copy: bytes


class Feed:
    """The events of one session (or of the server), in order.

    `first_id` is the id of the first event; `replay_events` how many a reader that comes back may be given.
    `base` is what every payload carries (the session's id). `observers` see each event as it is published.
    """

    def __init__(self, first_id: int, replay_events: int, base: Mapping[str, Any]) -> None:
        self.first_id = first_id
        self.observers: list[Observer] = []
        self._replay_events = replay_events
        self._ring = Ring(first_id, max(replay_events, LIVE_WINDOW_EVENTS))
        self._base = dict(base)
        self._readers: set[Reader] = set()
        self._prompts: dict[str, _Prompt] = {}
        self._last_terminal: Frame | None = None
        self._since_yield = 0

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def next_id(self) -> int:
        """The id that the next numbered event gets."""
        return self._ring.next_id

    @property
    def oldest_replayed_id(self) -> int:
        """The id of the oldest event that a reader who comes back is given."""
        return max(self._ring.oldest_id, self.next_id - self._replay_events)

    def publish(
        self,
        name: str,
        payload: Mapping[str, Any],
        turn_id: str | None = None,
        *,
        numbered: bool = True,
        terminal: bool = False,
        on_turn_stream: bool = True,
        request_id: str | None = None,
    ) -> int | None:
        """Send one event to every reader. Yields to the hub while a reader that could read is far behind, and
        around a large event, for which the ring may let go of much at once.

        `on_turn_stream` says whether the stream of its turn alone carries it, `request_id` names a prompt
        that it puts to a person. Shape: the event's id, where it has one.
        """
        shown = {**payload, **self._base}
        if None in shown.values():
            shown = {key: value for key, value in shown.items() if value is not None}
        if turn_id is not None:
            shown["turn_id"] = turn_id
        body = encode_payload(shown)
        is_large = len(body) >= _YIELD_BYTES
        if is_large and not terminal:
            self._give_way(behind=1)
        event_id = self.next_id if numbered else None
        stream = turn_id if on_turn_stream else None
        frame = Frame(event_id, name, stream, encode_frame(name, body, event_id), terminal, request_id)
        if request_id is not None:
            self._prompts[request_id] = _Prompt(frame, encode_frame(name, body))
        self._send(frame)
        for observer in self.observers:
            observer(name, shown)
        self._since_yield += 1
        self._give_way(behind=1 if is_large else _YIELD_BEHIND)
        return event_id

    def _send(self, frame: Frame) -> None:
        if frame.id is None:
            for reader in self._readers:
                reader.pass_by(frame)
            return
        self._ring.add(frame)
        if frame.name == "turn.started":
            self._last_terminal = None
        elif frame.is_terminal:
            self._last_terminal = frame
        for reader in self._readers:
            reader.note(frame)
        self._stop_lagging()

    def _stop_lagging(self) -> None:
        """A turn that runs for its only reader is not worth running once that one has lost the thread.

        Events are counted here, not bytes: a few large ones on a slow line are a gap, and no reason to stop.
        """
        if len(self._readers) == 1:
            (sole,) = self._readers
            if self.next_id - sole.position > self._ring.limit:
                error = SseLagError("the only reader of this stream fell behind; submit a new turn")
                sole.lag(lambda: self._failed(error, sole.turn_id))

    def _give_way(self, behind: int) -> None:
        """Let readers run that are so many events behind for want of a turn; now and then, blocked ones."""
        to_blocked = self._since_yield >= _YIELD_TO_SENDERS_EVERY
        for reader in self._readers:
            if self.next_id - reader.position >= behind and (to_blocked or not reader.is_sending):
                self._since_yield = 0
                gevent.sleep(1e-6)
                return

    def frame_at(self, position: int) -> tuple[Frame | None, int]:
        """The frame numbered `position`, or how many the ring let go from there on."""
        if position >= self.next_id:
            return None, 0
        oldest = self._ring.oldest_id
        return (None, oldest - position) if position < oldest else (self._ring[position], 0)

    def run_from(self, position: int, limit_bytes: int) -> tuple[bytes, ...]:
        """Every event from `position` on, to the newest or to so many bytes; none at a hole."""
        return self._ring.run_from(position, limit_bytes)

    def encode(self, name: str, payload: Mapping[str, Any], turn_id: str | None = None) -> bytes:
        """An event without a number, for one reader alone."""
        shown = {**payload, **self._base}
        if turn_id is not None:
            shown["turn_id"] = turn_id
        return encode_frame(name, encode_payload(shown))

    def gap(self, dropped: int | None) -> bytes:
        """The event that names a hole."""
        return self.encode("feed.gap", {} if dropped is None else {"dropped": dropped})

    def detached(self, turn_id: str) -> bytes:
        """The end of a stream whose turn left no ending here."""
        error = StreamDetachedError("the turn left no outcome on this stream; read its record")
        return self._failed(error, turn_id)

    def _failed(self, error: MekaError, turn_id: str | None) -> bytes:
        return self.encode("turn.failed", {"error": problem_of(error)}, turn_id)

    def lost(self, since: int, until: int) -> list[bytes]:
        """What a hole from `since` to before `until` must not swallow: an ending, and parked prompts."""
        last = self._last_terminal
        ending = [last.data] if last is not None and _is_within(last, since, until) else []
        return ending + self.prompts(since, until)

    def prompts(self, since: int, until: int) -> list[bytes]:
        """The prompts still parked whose events are numbered from `since` to before `until`."""
        return [each.copy for each in self._prompts.values() if _is_within(each.frame, since, until)]

    def close_prompt(self, request_id: str) -> None:
        """A prompt is parked no more: a reader that joins is not shown it."""
        self._prompts.pop(request_id, None)

    def is_parked(self, request_id: str) -> bool:
        """Whether a prompt still waits."""
        return request_id in self._prompts

    def live(self) -> Opening:
        """An opening for a reader of what is published from now on."""
        return Opening((), self.next_id)

    def rejoin(self, last_event_id: str | None) -> Opening:
        """An opening for a reader that had everything up to `last_event_id`, or nothing yet.

        Someone new is handed the ring; a position that was never issued here is a gap of unknown size, and
        the whole ring. Whoever comes back is shown every prompt that is still parked, had it or not.
        """
        oldest = self.oldest_replayed_id
        had = self.issued(last_event_id)
        if had is None:
            gap = () if last_event_id is None else (self.gap(None),)
            return Opening((*gap, *self.lost(self.first_id, oldest)), oldest)
        position = max(had + 1, oldest)
        hole = position - had - 1
        gap = (self.gap(hole),) if hole else ()
        had_prompts = self.prompts(self.first_id, had + 1)
        return Opening((*gap, *had_prompts, *self.lost(had + 1, position)), position)

    def issued(self, text: str | None) -> int | None:
        """The number of an event that was issued here, of what a client sent as one."""
        if text is None or not text.isascii() or not text.isdigit() or len(text) > _LONGEST_ID:
            return None
        number = int(text)
        return number if self.first_id <= number < self.next_id else None

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


def _is_within(frame: Frame, since: int, until: int) -> bool:
    return frame.id is not None and since <= frame.id < until

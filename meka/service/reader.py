"""One reader's place in a feed: a cursor into the ring, and what it is told besides."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from gevent.event import Event

from meka.service.frames import Frame, Opening, SideQueue

if TYPE_CHECKING:
    from meka.service.feed import Feed

_BATCH_BYTES = 64 * 1024


class Reader:
    """A place in a feed. `next_frames` waits for what comes next.

    A reader with a `turn_id` is sent that turn alone and ends with it, whatever the ring let go. `on_lag` is
    called, once, when the ring lets go of what the reader has not had while it is the only one and its turn
    still runs; the reader then ends.
    """

    def __init__(
        self, feed: "Feed", opening: Opening, turn_id: str | None, on_lag: Callable[[], None] | None
    ) -> None:
        self.turn_id = turn_id
        self.position = opening.position
        self.is_sending = False
        """Whether the last batch is still being written: a reader is slow only while its socket is."""
        self._feed = feed
        self._replay_until = feed.next_id
        self._told = deque(opening.frames)
        self._side = SideQueue()
        self._on_lag = on_lag
        self._terminal: Frame | None = None
        self._ready = Event()
        self._is_ended = False
        self._is_finished = False

    def next_frames(self, timeout_seconds: float) -> list[bytes] | None:
        """What the reader has not had yet, as whole frames; [] when nothing came in time, None at the end."""
        self.is_sending = False
        batch = self._take()
        if not batch and not self._is_over:
            self._ready.clear()
            self._ready.wait(timeout_seconds)
            batch = self._take()
        if not batch and self._is_over:
            return None
        self.is_sending = bool(batch)
        return batch

    @property
    def _is_over(self) -> bool:
        return self._is_ended or self._is_finished

    def note(self, frame: Frame) -> None:
        """A numbered event was published."""
        if frame.is_terminal and self.turn_id is not None and frame.turn_id == self.turn_id:
            self._terminal, self._on_lag = frame, None
        if not self._ready.is_set():
            self._ready.set()

    def pass_by(self, frame: Frame) -> None:
        """Hand over an event without a number, in its place after the newest numbered one."""
        if self.turn_id in (None, frame.turn_id):
            self._side.put(self._feed.next_id, frame.data)
            self._ready.set()

    def lag(self, make_last: Callable[[], bytes]) -> None:
        """The ring let go of what this reader has not had: where its turn runs for it alone, both end."""
        if self._on_lag is not None:
            told, self._on_lag = self._on_lag, None
            self._told.append(make_last())
            self._is_finished = True
            self._ready.set()
            told()

    def end(self) -> None:
        """No more events: the reader ends once it has had what is there."""
        self._is_ended = True
        self._ready.set()

    def close(self) -> None:
        """Leave the feed at once. May be called more than once."""
        self._feed.detach(self)
        self._told.clear()
        self._is_finished = True
        self._ready.set()

    @property
    def _is_in_step(self) -> bool:
        """Whether the reader takes whatever comes, as every other one of a live feed does: then what comes
        is gathered once for all of them."""
        return (
            self.turn_id is None
            and self.position >= self._replay_until
            and self._side.is_empty
            and not self._is_finished
        )

    def _take(self) -> list[bytes]:
        batch = list(self._told)
        self._told.clear()
        size = sum(map(len, batch))
        if self._is_in_step and size < _BATCH_BYTES:
            run = self._feed.run_from(self.position, _BATCH_BYTES)
            if run:
                self.position += len(run)
                batch += run
                return batch
        while size < _BATCH_BYTES and not self._is_finished:
            data = self._next(batch)
            if data is None:
                break
            batch.append(data)
            size += len(data)
        if not batch and self._is_ended and not self._is_finished:
            self._is_finished = True
            if self.turn_id is not None:
                batch.append(self._feed.detached(self.turn_id))
        return batch

    def _next(self, batch: list[bytes]) -> bytes | None:
        """The next event for this reader; what is said of a hole on the way goes straight into `batch`."""
        while True:
            beside = self._side.take(self.position)
            if beside is not None:
                return beside
            frame, dropped = self._feed.frame_at(self.position)
            if dropped:
                batch.extend(self._pass_hole(dropped))
                if self._is_finished:
                    return None
                continue
            if frame is None:
                return None
            self.position += 1
            if self._is_for_me(frame):
                self._is_finished = frame.is_terminal and self.turn_id is not None
                return frame.data

    def _pass_hole(self, dropped: int) -> list[bytes]:
        """Say that events are lost, and what must not be lost with them."""
        since, self.position = self.position, self.position + dropped
        gap = self._feed.gap(dropped)
        if self.turn_id is None:
            return [gap, *self._feed.lost(since, self.position)]
        last = self._terminal
        if last is None or last.id is None or last.id >= self.position:
            return [gap, *self._feed.prompts(since, self.position)]
        self._is_finished = True
        return [gap, last.data]

    def _is_for_me(self, frame: Frame) -> bool:
        if self.turn_id not in (None, frame.turn_id):
            return False
        is_replay = frame.id is not None and frame.id < self._replay_until
        return not is_replay or frame.request_id is None or self._feed.is_parked(frame.request_id)

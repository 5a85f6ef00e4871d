"""Events as they go over the wire, and the two places they wait in: the ring, and a reader's side queue."""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, NamedTuple

RING_BYTES = 8 * 1024 * 1024
_SIDE_EVENTS = 64
_SIDE_BYTES = 1024 * 1024


# Made once: json.dumps makes an encoder a call where it is given options.
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


class Frame(NamedTuple):
    """One event. `id` is None for those that are never replayed; `turn_id` names the turn whose own stream
    carries it; `request_id` the prompt that it puts to a person, replayed only while that is parked."""

    id: int | None
    name: str
    turn_id: str | None
    data: bytes
    is_terminal: bool = False
    request_id: str | None = None


def encode_payload(payload: Mapping[str, Any]) -> str:
    """JSON on one line; a flat object of texts, which a delta is, in half the encoder's time."""
    members = []
    for name, value in payload.items():
        if type(value) is not str:
            return _ENCODER.encode(payload)
        members.append(f"{encode_basestring(name)}:{encode_basestring(value)}")
    return f"{{{','.join(members)}}}"


def encode_frame(name: str, payload: str, event_id: int | None = None) -> bytes:
    """An event in SSE's form, its payload encoded already."""
    head = f"event: {name}\n" if event_id is None else f"event: {name}\nid: {event_id}\n"
    return f"{head}data: {payload}\n\n".encode()


class Ring:
    """The newest numbered events, at most `limit` of them and so many bytes; the newest one always.

    It hands ids out: the first event has `first_id`, each one more than the last.
    """

    def __init__(self, first_id: int, limit: int, limit_bytes: int = RING_BYTES) -> None:
        self.next_id = first_id
        self.limit = limit
        self._limit_bytes = limit_bytes
        self._frames: deque[Frame] = deque()
        self._size = 0
        self._runs: dict[int, tuple[bytes, ...]] = {}

    @property
    def oldest_id(self) -> int:
        """The id of the oldest event that is still there."""
        return self.next_id - len(self._frames)

    @property
    def size_bytes(self) -> int:
        """How many bytes it holds."""
        return self._size

    def add(self, frame: Frame) -> None:
        """Take in the event numbered `next_id`, and let go of what there is no room for."""
        self._runs.clear()
        self.next_id += 1
        self._frames.append(frame)
        self._size += len(frame.data)
        while len(self._frames) > self.limit or (self._size > self._limit_bytes and len(self._frames) > 1):
            self._size -= len(self._frames.popleft().data)

    def __getitem__(self, event_id: int) -> Frame:
        """The event of that id, which must be there."""
        return self._frames[event_id - self.oldest_id]

    def run_from(self, event_id: int, limit_bytes: int) -> tuple[bytes, ...]:
        """The events from that id on, to the newest or to so many bytes; none where that one is not there.

        Gathered once for all who stand at the same place, until the next event.
        """
        run = self._runs.get(event_id)
        if run is None:
            run = self._runs[event_id] = tuple(self._gather(event_id, limit_bytes))
        return run

    def _gather(self, event_id: int, limit_bytes: int) -> Iterator[bytes]:
        if event_id < self.oldest_id:
            return
        size = 0
        for frame in islice(self._frames, event_id - self.oldest_id, None):
            yield frame.data
            size += len(frame.data)
            if size >= limit_bytes:
                return


class SideQueue:
    """Unnumbered events on their way to one reader, each in its place among the numbered ones.

    It is bounded in events and bytes, and drops its oldest: progress is no history.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def put(self, position: int, data: bytes) -> None:
        """An event that comes before the one numbered `position`."""
        self._waiting.append((position, data))
        self._size += len(data)
        while len(self._waiting) > _SIDE_EVENTS or (self._size > _SIDE_BYTES and len(self._waiting) > 1):
            self._drop()

    def take(self, position: int) -> bytes | None:
        """The next event whose place is not after `position`."""
        if self._waiting and self._waiting[0][0] <= position:
            return self._drop()
        return None

    def _drop(self) -> bytes:
        _, data = self._waiting.popleft()
        self._size -= len(data)
        return data


@dataclass(frozen=True, slots=True)
class Opening:
    """What a reader that joins is told before it follows the ring from `position` on."""

    frames: tuple[bytes, ...]
    position: int

    def after(self, frames: Iterable[bytes]) -> "Opening":
        """The same, with `frames` ahead of it."""
        return Opening((*frames, *self.frames), self.position)

"""Idempotency keys of turns, in memory: the first request runs, a repeated one is given its answer.

A key is one token's, in one session, for a day from the answer on. What a token may hold is bounded: past
the bound its oldest answers go, and an answer too large to keep is not kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from meka.base.clock import Clock
from meka.base.errors import IdempotencyError

LIFETIME_SECONDS = 24 * 3600.0
MAX_ENTRIES = 1000
MAX_BYTES = 64 * 1024 * 1024

Slot = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it was sent, to be sent again byte for byte."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def size_bytes(self) -> int:
        """What keeping it takes."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers)


@dataclass(frozen=True, slots=True)
class _Completed:
    body_digest: str
    answer: Answer
    expires_at: float


@dataclass(slots=True)
class _Holding:
    """What one token holds. `completed` is in order of completion, and so of expiry."""

    running: dict[Slot, str] = field(default_factory=dict)
    completed: dict[Slot, _Completed] = field(default_factory=dict)
    size_bytes: int = 0

    def __len__(self) -> int:
        return len(self.running) + len(self.completed)

    def add(self, slot: Slot, entry: _Completed) -> None:
        self.completed[slot] = entry
        self.size_bytes += entry.answer.size_bytes

    def drop_oldest(self) -> None:
        self.size_bytes -= self.completed.pop(next(iter(self.completed))).answer.size_bytes

    def drop_expired(self, now: float) -> None:
        while self.completed and next(iter(self.completed.values())).expires_at <= now:
            self.drop_oldest()


class Ticket:
    """The right to run a request; a context manager, which forgets the key unless `complete` came."""

    def __init__(self, keys: "IdempotencyKeys", token: str, slot: Slot) -> None:
        self._keys = keys
        self._token = token
        self._slot = slot
        self._settled = False

    def complete(self, answer: Answer) -> None:
        """Keep the answer for whoever sends the key again; only the first call counts."""
        if not self._settled:
            self._settled = True
            self._keys.settle(self._token, self._slot, answer)

    def forget(self) -> None:
        """Let the next request with the key run."""
        if not self._settled:
            self._settled = True
            self._keys.settle(self._token, self._slot, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.forget()


class IdempotencyKeys:
    """The keys of all tokens. Nothing here yields: of two requests at once, one runs."""

    def __init__(
        self,
        clock: Clock,
        *,
        lifetime_seconds: float = LIFETIME_SECONDS,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._clock = clock
        self._lifetime_seconds = lifetime_seconds
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._holdings: dict[str, _Holding] = {}

    def begin(self, token: str, session_id: str, key: str, body_digest: str) -> Ticket | Answer:
        """The ticket to run a request, or the answer it was given before.

        `token` is the token's fingerprint, `body_digest` the SHA-256 of the raw body.
        Raises: IdempotencyError when the key was sent with another body, or its first request still runs, or
        all that the token may hold is running.
        """
        self._drop_expired()
        slot = (session_id, key)
        holding = self._holdings.get(token) or _Holding()
        known = self._known_digest(holding, slot)
        if known is not None and known != body_digest:
            raise IdempotencyError("the Idempotency-Key was sent before with another body")
        if slot in holding.running:
            raise IdempotencyError("the first request with this Idempotency-Key is still running")
        if known is not None:
            return holding.completed[slot].answer
        self._make_room(holding)
        holding.running[slot] = body_digest
        self._holdings[token] = holding
        return Ticket(self, token, slot)

    def settle(self, token: str, slot: Slot, answer: Answer | None) -> None:
        """End what runs under a key: with an answer to keep, or with none (a ticket's doing)."""
        holding = self._holdings[token]
        digest = holding.running.pop(slot)
        if answer is not None and answer.size_bytes <= self._max_bytes:
            while holding.size_bytes + answer.size_bytes > self._max_bytes:
                holding.drop_oldest()
            expires_at = self._clock.monotonic() + self._lifetime_seconds
            holding.add(slot, _Completed(digest, answer, expires_at))
        self._drop_empty([token])

    @staticmethod
    def _known_digest(holding: _Holding, slot: Slot) -> str | None:
        completed = holding.completed.get(slot)
        return holding.running.get(slot) if completed is None else completed.body_digest

    def _make_room(self, holding: _Holding) -> None:
        if len(holding) < self._max_entries:
            return
        if not holding.completed:
            raise IdempotencyError.at_capacity()
        holding.drop_oldest()

    def _drop_expired(self) -> None:
        """Of every token, so that one which never comes back does not hold its answers for good."""
        now = self._clock.monotonic()
        for holding in self._holdings.values():
            holding.drop_expired(now)
        self._drop_empty(tuple(self._holdings))

    def _drop_empty(self, tokens: Iterable[str]) -> None:
        for token in tokens:
            if not self._holdings[token]:
                del self._holdings[token]

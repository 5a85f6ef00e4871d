"""Stores of a size, search index included: seeded, and written straight through `meka.store`.

What is said is drawn from a vocabulary of which each word is as frequent as its rank is low (Zipf's law), so
that a store of a million messages has words that stand in a dozen of them, in a thousand, and in most.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from uuid import UUID

from meka.base.clock import SystemClock
from meka.service.views import CAPABILITY_DEFAULTS
from meka.store import messages, sessions, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.locks import SessionLocks
from meka.store.messages import NewRow
from meka.store.turns import TurnRow

SESSION_MESSAGES = 50
VOCABULARY = 50_000
_TURN_MESSAGES = 10
_LEAST_WORDS, _MOST_WORDS = 8, 16
_UNIT_SESSIONS = 100
_SEED = 1
_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aeiou"
_SYLLABLES = tuple(consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS)
_SYLLABLES_A_WORD = 3
_STRIDE = 7919  # prime to the count of words there could be, so that no two ranks share one


def word_of(rank: int) -> str:
    """The word of a rank, 0 the commonest: three syllables, so that every prefix of it has others too."""
    number = (rank + 1) * _STRIDE % len(_SYLLABLES) ** _SYLLABLES_A_WORD
    parts = []
    for _ in range(_SYLLABLES_A_WORD):
        number, syllable = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[syllable])
    return "".join(parts)


def fill_store(path: Path, count: int, working_directory: Path) -> list[str]:
    """Add `count` sessions of 50 messages to the store at `path`; their ids, oldest first.

    Each has the lock file that a session keeps once it was open.
    """
    random = Random(_SEED)
    session_ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(count)]
    lines = _lines(random)
    with Database.open(path, clock=SystemClock()) as database:
        for start in range(0, count, _UNIT_SESSIONS):
            unit = session_ids[start : start + _UNIT_SESSIONS]
            database.write(lambda tx, unit=unit: _add(tx, unit, lines, working_directory))  # type: ignore[misc]
    locks = SessionLocks(path.parent / "locks")
    for session_id in session_ids:
        lock = locks.try_acquire(session_id)
        if lock is not None:
            lock.release()
    return session_ids


def _lines(random: Random) -> Iterator[str]:
    """What is said, without end."""
    words = [word_of(rank) for rank in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))
    while True:
        count = random.randint(_LEAST_WORDS, _MOST_WORDS)
        yield " ".join(random.choices(words, cum_weights=weights, k=count))


def _add(tx: Tx, session_ids: Sequence[str], lines: Iterator[str], working_directory: Path) -> None:
    for session_id in session_ids:
        sessions.create(
            tx,
            session_id,
            working_directory=str(working_directory),
            permission="read",
            approvals=False,
            profile="bench",
            capabilities=CAPABILITY_DEFAULTS,
        )
        said = [_message(place, next(lines)) for place in range(SESSION_MESSAGES)]
        messages.append(tx, session_id, *said)
        sessions.note_first_words(tx, session_id, said[0].content[0]["text"])
        for turn_id in dict.fromkeys(str(row.turn_id) for row in said):
            now = tx.now()
            turns.add(tx, TurnRow(turn_id, session_id, "client", now, "read", now, "succeeded", "end_turn"))


def _message(place: int, text: str) -> NewRow:
    role = "assistant" if place % 2 else "user"
    return messages.message(
        role, [{"type": "text", "text": text}], turn_id=str(UUID(int=place // _TURN_MESSAGES))
    )

"""Names that were probably meant: by segment, by word order, by edit distance; destructive ones last."""

import re
from collections.abc import Iterable

from rapidfuzz.distance import Levenshtein

MOST_NAMES = 3
_DESTRUCTIVE = frozenset({"delete", "remove", "cancel", "drop", "clear", "kill", "destroy", "purge", "reset"})
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 128


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """At most 3 of `names` that `name` may have meant, best first, destructive ones last."""
    wanted = name[:_LONGEST_NAME].lower()
    ranked = sorted(
        (is_destructive(candidate), rank, candidate)
        for candidate in set(names)
        if (rank := _rank(wanted, candidate.lower())) is not None
    )
    return [candidate for _, _, candidate in ranked[:MOST_NAMES]]


def is_destructive(name: str) -> bool:
    """Whether the name says that something will be gone."""
    return not _DESTRUCTIVE.isdisjoint(segments(name))


def segments(name: str) -> list[str]:
    """The words of a name, lower case: `Web-Fetch` and `web_fetch` have the same."""
    return [word for word in _SEPARATORS.split(name.lower()) if word]


def typo_budget(word: str) -> int:
    """How many edits away a word may be and still be the same word misspelt."""
    return 1 if len(word) < 5 else min(4, max(2, len(word) // 3))


def _rank(wanted: str, candidate: str) -> tuple[int, float] | None:
    """The kind of likeness (0 is closest) and how weak it is within its kind; None when there is none."""
    ours, theirs = segments(wanted), segments(candidate)
    if not ours:
        return None
    if sorted(ours) == sorted(theirs):
        return 0, 0.0
    budget = typo_budget(wanted)
    distance = Levenshtein.distance(wanted, candidate, score_cutoff=budget)
    if distance <= budget:
        return 1, distance
    shared = len(set(ours) & set(theirs))
    if shared:
        return 2, -shared / max(len(ours), len(theirs))
    return (3, len(candidate)) if wanted in candidate or candidate in wanted else None

"""What becomes of an inbox item whose turn ended without an answer: withdrawn, offered again, or given up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from meka.base.clock import rfc3339
from meka.base.errors import MekaError, problem_of
from meka.store import inbox
from meka.store.connection import Tx
from meka.store.inbox import InboxRow

FIRST_RETRY_SECONDS = 10
LONGEST_RETRY_SECONDS = 300
LOCKED_WAIT_SECONDS = 10.0
_SHORTEST_RETRY_SECONDS = 1
_PROBLEM_MEMBERS = ("type", "title", "status", "detail")

NO_USE = "the turn failed in a way that another attempt would not change"
TOO_LATE = "the time for attempts is over"
HELD_ELSEWHERE = "another process held the session until the time for attempts was over"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an item: the event that says so, with its payload."""

    item: InboxRow
    event: str
    payload: Mapping[str, Any]


def withdraw(tx: Tx, item: InboxRow) -> Fate:
    """Its turn was canceled: the item goes with it, and no error decided that."""
    inbox.mark_withdrawn(tx, [item.id])
    return Fate(item, "inbox.withdrawn", {"item_id": item.id})


def fail_item(tx: Tx, item: InboxRow, error: MekaError, now: datetime) -> Fate:
    """Offer an item again where waiting can help and there is time, else give it up."""
    if not error.may_pass:
        return give_up(tx, item, NO_USE, error)
    if now >= item.retry_until:
        return give_up(tx, item, TOO_LATE, error)
    not_before = min(now + timedelta(seconds=retry_seconds(item.attempts, error)), item.retry_until)
    inbox.offer_again(tx, [item.id], not_before=not_before, error=_kept(error), attempted=True)
    payload = {"item_id": item.id, "not_before": rfc3339(not_before), "error": problem_of(error)}
    return Fate(item, "inbox.deferred", payload)


def wait_for_holder(tx: Tx, item: InboxRow, error: MekaError, now: datetime) -> Fate | None:
    """Another process holds the session: ask again in a while, which is no attempt."""
    if now >= item.retry_until:
        return give_up(tx, item, HELD_ELSEWHERE, error)
    not_before = min(now + timedelta(seconds=LOCKED_WAIT_SECONDS), item.retry_until)
    inbox.offer_again(tx, [item.id], not_before=not_before, error=_kept(error))
    return None


def give_up(tx: Tx, item: InboxRow, reason: str, error: MekaError) -> Fate:
    """Withdraw an item for good, saying why."""
    inbox.mark_withdrawn(tx, [item.id], failure=reason, error=_kept(error))
    return Fate(item, "inbox.failed", {"item_id": item.id, "reason": reason, "error": problem_of(error)})


def retry_seconds(attempts: int, error: MekaError) -> float:
    """The wait before the next attempt: doubling, bounded, shorter when the upstream says so."""
    wait = min(FIRST_RETRY_SECONDS * 2 ** min(attempts, 10), LONGEST_RETRY_SECONDS)
    if error.back_in_seconds is None:
        return float(wait)
    return float(min(wait, max(error.back_in_seconds, _SHORTEST_RETRY_SECONDS)))


def _kept(error: MekaError) -> dict[str, Any]:
    """The problem as an item shows it: never the upstream's text."""
    problem = problem_of(error)
    return {name: problem[name] for name in _PROBLEM_MEMBERS if name in problem}

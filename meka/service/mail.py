"""The inbox's side of a running turn: what it takes in, when that counts as read, and what a bad end does to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import gevent

from meka.agent.blocks import Block, Inbox
from meka.agent.mail import Letters, Moment
from meka.agent.turn import Ending, Status
from meka.base.clock import Clock, rfc3339
from meka.base.errors import MekaError, problem_of
from meka.service.reports import report_block
from meka.service.runtime import SessionRuntime
from meka.store import inbox, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow
from meka.store.messages import LogRow
from meka.store.tasks import TaskRow

FIRST_RETRY_SECONDS = 10
LONGEST_RETRY_SECONDS = 300
_PROBLEM_MEMBERS = ("type", "title", "status", "detail")
_AT_BOUNDARIES = ("steer", "interrupt")


def header(item: InboxRow, *, mid_turn: bool) -> str:
    """The line the model reads above an item's words."""
    sender = f" from {item.source}," if item.source else ""
    moment = item.created_at.astimezone()
    when = f"{moment:%Y-%m-%d %H:%M} {moment:%z}"
    when = f"{when[:-2]}:{when[-2:]}"
    return f"[Message{sender} arrived {when}{' while you were working' if mid_turn else ''}]"


def inbox_block(item: InboxRow, *, mid_turn: bool) -> Inbox:
    """An item as the conversation keeps it; its words are verbatim."""
    return Inbox(
        text=f"{header(item, mid_turn=mid_turn)}\n{item.message}",
        body=item.message,
        item_id=item.id,
        class_=item.class_,
        source=item.source,
    )


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an item whose opening was taken back."""

    item: InboxRow
    event: str
    payload: Mapping[str, Any]


class SessionMail:
    """The mail of one turn. `started_at` tells what landed mid-turn."""

    def __init__(
        self,
        database: Database,
        runtime: SessionRuntime,
        clock: Clock,
        emit: Callable[[str, Mapping[str, Any]], Any],
    ) -> None:
        self._database = database
        self._runtime = runtime
        self._clock = clock
        self._emit = emit
        self._carried: list[InboxRow] = []
        self._markers: list[gevent.Greenlet] = []
        self.fates: list[Fate] = []
        self.interrupt = runtime.interrupt
        self.started_at: datetime | None = None

    @property
    def item_ids(self) -> list[str]:
        """The items that the opening carries."""
        return [item.id for item in self._carried]

    def take(self, moment: Moment) -> Letters | None:
        """What is there at this moment: everything at an opening, what may break in at a boundary."""
        self.interrupt.clear()
        items = self._items(moment)
        reports = self._reports(moment)
        if not items and not reports:
            return None
        ids = [item.id for item in items]
        self._runtime.taken.update(ids)
        if moment is Moment.OPENING:
            self._carried = items
        blocks: list[Block] = [report_block(reports, self._clock.now())] if reports else []
        blocks += [inbox_block(item, mid_turn=self._is_mid_turn(item)) for item in items]
        return Letters(tuple(blocks), self._unit(ids, reports), _cause(items))

    def _items(self, moment: Moment) -> list[InboxRow]:
        now = self._clock.now()
        waiting = self._database.read(lambda tx: inbox.pending(tx, self._runtime.id))
        waiting = [item for item in waiting if item.id not in self._runtime.taken]
        if moment is Moment.OPENING:
            return [item for item in waiting if item.not_before is None or item.not_before <= now]
        return [item for item in waiting if item.class_ in _AT_BOUNDARIES]

    def _reports(self, moment: Moment) -> list[TaskRow]:
        """Outcomes ride an opening or a round's results; a reply is never held up by one."""
        if moment not in (Moment.OPENING, Moment.TOOLS) or not self._runtime.known_tasks:
            return []
        return self._database.read(lambda tx: tasks.unreported(tx, self._runtime.id))

    def _is_mid_turn(self, item: InboxRow) -> bool:
        return self.started_at is not None and item.created_at > self.started_at

    def _unit(self, ids: Sequence[str], reports: Sequence[TaskRow]) -> Callable[[Tx, Sequence[LogRow]], None]:
        def unit(tx: Tx, rows: Sequence[LogRow]) -> None:
            if ids:
                inbox.mark_appended(tx, ids, rows[-1].seq)
            if reports:
                tasks.mark_reported(tx, [task.id for task in reports])
            self._runtime.appended.update(dict.fromkeys(ids))
            self._runtime.known_tasks.update({task.id: True for task in reports})

        return unit

    def accepted(self) -> None:
        """What is in the conversation was read now; the rows follow in a greenlet that nobody kills."""
        ids = list(self._runtime.appended)
        if not ids:
            return
        self._runtime.appended.clear()
        marker = gevent.spawn(self._mark_delivered, ids)
        marker.name = "inbox-delivered"
        self._markers.append(marker)

    def _mark_delivered(self, ids: Sequence[str]) -> None:
        self._database.write(lambda tx: inbox.mark_delivered(tx, ids))
        self._runtime.taken.difference_update(ids)
        self._emit("inbox.delivered", {"item_ids": list(ids)})

    def finish(self) -> None:
        """Wait until every item that was read is recorded as read."""
        gevent.joinall(self._markers)

    def settle(self, tx: Tx, ending: Ending) -> None:
        """Where the opening is taken back, its items go with it: withdrawn, offered again, or given up."""
        self.fates = []
        if not ending.message_withdrawn:
            return
        for item in self._carried:
            self.fates.append(self._fate(tx, item, ending))
        for item in self._carried:
            self._runtime.appended.pop(item.id, None)
            self._runtime.taken.discard(item.id)

    def _fate(self, tx: Tx, item: InboxRow, ending: Ending) -> Fate:
        if ending.status is Status.CANCELED:
            inbox.mark_withdrawn(tx, [item.id])
            return Fate(item, "inbox.withdrawn", {"item_id": item.id})
        error = ending.error or MekaError("the turn failed")
        return fail_item(tx, item, error, self._clock.now())


def fail_item(tx: Tx, item: InboxRow, error: MekaError, now: datetime) -> Fate:
    """Offer an item again after a failed attempt, where waiting can help and there is time; else give it up."""
    problem = dict(problem_of(error))
    kept = {name: problem[name] for name in _PROBLEM_MEMBERS if name in problem}
    if not error.may_pass:
        return give_up(tx, item, "the turn failed in a way that another attempt would not change", problem)
    if now > item.retry_until:
        return give_up(tx, item, "the time for attempts is over", problem)
    not_before = min(now + timedelta(seconds=retry_seconds(item.attempts, error)), item.retry_until)
    inbox.offer_again(tx, [item.id], not_before=not_before, error=kept, attempted=True)
    payload = {"item_id": item.id, "not_before": rfc3339(not_before), "error": problem}
    return Fate(item, "inbox.deferred", payload)


def give_up(tx: Tx, item: InboxRow, reason: str, problem: Mapping[str, Any]) -> Fate:
    """Withdraw an item for good, saying why."""
    kept = {name: problem[name] for name in _PROBLEM_MEMBERS if name in problem}
    inbox.mark_withdrawn(tx, [item.id], failure=reason, error=kept)
    return Fate(item, "inbox.failed", {"item_id": item.id, "reason": reason, "error": problem})


def retry_seconds(attempts: int, error: MekaError) -> float:
    """The wait before the next attempt: doubling, bounded, shorter when the upstream says so."""
    wait = min(FIRST_RETRY_SECONDS * 2**attempts, LONGEST_RETRY_SECONDS)
    stated = error.members.get("retry_after")
    return float(min(wait, stated) if isinstance(stated, int) else wait)


def _cause(items: Sequence[InboxRow]) -> str:
    if len(items) != 1:
        return f"The answer was interrupted to read {len(items)} messages."
    sender = f" from '{items[0].source}'" if items[0].source else ""
    return f"The answer was interrupted to read a message{sender}."

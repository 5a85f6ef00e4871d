"""The inbox's side of a running turn: what it takes in, when that is read, what a bad end does to it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gevent

from meka.agent.blocks import Block, Inbox
from meka.agent.mail import Letters, Moment
from meka.agent.turn import Ending, Status
from meka.base.clock import Clock
from meka.base.errors import MekaError
from meka.service.fates import Fate, fail_item, withdraw
from meka.service.reports import report_block
from meka.service.runtime import SessionRuntime
from meka.store import inbox, tasks
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.inbox import InboxRow
from meka.store.messages import LogRow
from meka.store.tasks import TaskRow

LOG = logging.getLogger(__name__)

_AT_BOUNDARIES = ("steer", "interrupt")
_ALL_RIDE = (Moment.OPENING, Moment.LATE)
_REPORTS_RIDE = (Moment.OPENING, Moment.TOOLS)


def header(item: InboxRow) -> str:
    """The line the model reads above an item's words."""
    sender = f" from {item.source}," if item.source else ""
    moment = item.created_at.astimezone()
    offset = f"{moment:%z}"
    when = f"{moment:%Y-%m-%d %H:%M} {offset[:3]}:{offset[3:5]}"
    return f"[Message{sender} arrived {when}{' while you were working' if item.mid_turn else ''}]"


def inbox_block(item: InboxRow) -> Inbox:
    """An item as the conversation keeps it; its words are verbatim."""
    return Inbox(
        text=f"{header(item)}\n{item.message}",
        body=item.message,
        item_id=item.id,
        class_=item.class_,
        source=item.source,
    )


class SessionMail:
    """The mail of one turn. Whoever takes letters keeps or drops them."""

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
        self._kept: list[InboxRow] = []
        self._markers: list[gevent.Greenlet] = []
        self._fates: list[Fate] = []
        self._seen = False
        self.interrupt = runtime.interrupt

    def take(self, moment: Moment) -> Letters | None:
        """What is there at this moment: everything at an opening, what may break in at a boundary."""
        if not self._may_find(moment):
            return None
        items, reports = self._look(moment)
        if not items and not reports:
            return None
        blocks: list[Block] = [report_block(reports, self._clock.now())] if reports else []
        blocks += [inbox_block(item) for item in items]
        return self._letters(blocks, items, reports)

    def _may_find(self, moment: Moment) -> bool:
        """Whether a look at the store could find anything: what is posted here is noted as it lands, and the
        turn's own writes see what other processes posted."""
        if moment in _REPORTS_RIDE and self._runtime.owes_report:
            return True
        if moment is Moment.OPENING:
            return self._runtime.may_wait
        return self._seen or self._runtime.landed.is_set()

    def _look(self, moment: Moment) -> tuple[list[InboxRow], list[TaskRow]]:
        """What waits in the store. Forgotten first that it may: what lands during the look is noted again."""
        runtime = self._runtime
        cuts = self.interrupt.is_set()
        self._seen = False
        self.interrupt.clear()
        runtime.landed.clear()
        runtime.may_wait = runtime.may_wait and moment not in _ALL_RIDE
        try:
            return self._database.read(lambda tx: (self._items(tx, moment), self._reports(tx, moment)))
        except BaseException:
            runtime.note_landed(cuts=cuts)
            raise

    def _items(self, tx: Tx, moment: Moment) -> list[InboxRow]:
        waiting = inbox.pending(tx, self._runtime.id)
        return [item for item in waiting if moment in _ALL_RIDE or item.class_ in _AT_BOUNDARIES]

    def _reports(self, tx: Tx, moment: Moment) -> list[TaskRow]:
        """Outcomes ride an opening or a round's results; a reply is never held up by one."""
        if moment not in _REPORTS_RIDE or not self._runtime.known_tasks:
            return []
        return tasks.unreported(tx, self._runtime.id)

    def _letters(
        self, blocks: Sequence[Block], items: Sequence[InboxRow], reports: Sequence[TaskRow]
    ) -> Letters:
        ids = [item.id for item in items]
        told = [task.id for task in reports]
        self._runtime.taken.update(ids)

        def unit(tx: Tx, rows: Sequence[LogRow]) -> None:
            if ids:
                inbox.mark_appended(tx, ids, rows[-1].seq)
            if told:
                tasks.mark_reported(tx, told)

        def keep() -> None:
            self._kept.extend(items)
            self._runtime.appended.update(dict.fromkeys(ids))
            self._runtime.known_tasks.update(dict.fromkeys(told, True))

        def drop() -> None:
            # They are still in the store as they were; what may cut a reply is looked for again.
            self._runtime.taken.difference_update(ids)
            self._runtime.note_landed(cuts=any(item.class_ == "interrupt" for item in items))

        return Letters(tuple(blocks), unit, _cause(items), keep, drop)

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
        try:
            read = self._database.write(lambda tx: inbox.mark_delivered(tx, ids))
        except Exception:
            # The next request that is accepted carries them as well.
            LOG.exception("inbox items could not be marked", extra={"session_id": self._runtime.id})
            self._runtime.appended.update(dict.fromkeys(ids))
            return
        self._runtime.taken.difference_update(ids)
        if read:
            self._emit("inbox.delivered", {"item_ids": read})

    def glance(self, tx: Tx) -> None:
        """In a write that the turn makes anyway, see whether items wait: also those of other processes."""
        self._seen = inbox.has_pending(tx, self._runtime.id)

    def settle(self, tx: Tx, ending: Ending) -> None:
        """Where the opening is taken back, its items go with it: withdrawn, offered again, or given up."""
        self._seen = True
        self._take_back(tx, ending)
        self.glance(tx)

    def _take_back(self, tx: Tx, ending: Ending) -> None:
        self._fates = []
        if not ending.message_withdrawn:
            return
        if ending.reason == "server_shutdown":
            # Nobody took the message back: the next process finds it waiting.
            inbox.offer_again(tx, [item.id for item in self._kept])
            return
        self._fates = [self._fate(tx, item, ending) for item in self._kept]

    def _fate(self, tx: Tx, item: InboxRow, ending: Ending) -> Fate:
        if ending.status is Status.CANCELED:
            return withdraw(tx, item)
        return fail_item(tx, item, ending.error or MekaError("the turn failed"), self._clock.now())

    def conclude(self, ending: Ending) -> Sequence[Fate]:
        """Once the ending is stored: wait until what was read is recorded. Shape: what became of the rest."""
        gevent.joinall(self._markers)
        self._runtime.may_wait = self._runtime.may_wait or self._seen
        if not ending.message_withdrawn:
            return ()
        for item in self._kept:
            self._runtime.appended.pop(item.id, None)
            self._runtime.taken.discard(item.id)
        return self._fates


def _cause(items: Sequence[InboxRow]) -> str:
    if len(items) != 1:
        return f"The answer was interrupted to read {len(items)} messages."
    sender = f" from '{items[0].source}'" if items[0].source else ""
    return f"The answer was interrupted to read a message{sender}."

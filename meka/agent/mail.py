"""What reaches a turn from outside while it runs: inbox items and reports of background tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from gevent.event import Event

from meka.agent.blocks import Block
from meka.agent.conversation import Unit
from meka.store.connection import Tx
from meka.store.messages import LogRow

T = TypeVar("T")


class Moment(StrEnum):
    """Where a turn stands when it looks for letters."""

    OPENING = "opening"  # before its first message is written: everything rides it
    LATE = "late"  # the opening is written, and nothing was asked yet: what landed meanwhile rides it too
    TOOLS = "tools"  # a round's results are there: steers, interrupts, reports
    REPLY = "reply"  # a reply without calls: steers and interrupts
    CUT = "cut"  # the reply was cut for an interrupt


@dataclass(frozen=True, slots=True)
class Letters:
    """What a turn takes in at once. `unit` records, in the transaction that appends the blocks, that they are
    in the conversation; then they are kept, or dropped where that transaction failed. `cause` words the
    notice of a cut."""

    blocks: tuple[Block, ...]
    unit: Callable[[Tx, Sequence[LogRow]], Any]
    cause: str = ""
    keep: Callable[[], None] = lambda: None
    drop: Callable[[], None] = lambda: None


def store(letters: Letters | None, write: Callable[[Unit | None], T]) -> T:
    """`write(unit)`, which appends the letters' blocks; what becomes of the letters follows it."""
    if letters is None:
        return write(None)
    try:
        written = write(letters.unit)
    except BaseException:
        letters.drop()
        raise
    letters.keep()
    return written


class Mail(Protocol):
    """The turn's side of the inbox. `interrupt` is set while an item waits that may cut a reply."""

    interrupt: Event

    def take(self, moment: Moment) -> Letters | None:
        """What is there at this moment, or None; taken once."""

    def accepted(self) -> None:
        """A provider accepted a request that carries all that was taken. Must not wait."""


class NoMail:
    """The mail of a turn that nobody can write to."""

    def __init__(self) -> None:
        self.interrupt = Event()

    def take(self, moment: Moment) -> Letters | None:
        """Nothing, ever."""

    def accepted(self) -> None:
        """Nothing was carried."""

"""Turn labels: where turns begin in a view, as rewind counts them and clients group them."""

from collections.abc import Iterable, Iterator

from meka.agent.blocks import Nudge, Role, ToolResult
from meka.agent.conversation import Entry
from meka.agent.keeping import is_summary


def openings(entries: Iterable[Entry]) -> Iterator[bool]:
    """Whether each message opens a turn: the first that its turn has in the view, from the user's side.

    What follows inside the turn (results, a nudge, a steer after a reply) opens none, nor does a summary. A
    row that names no turn was written before turns were recorded, and is judged by its blocks.
    """
    seen: set[str] = set()
    for entry in entries:
        is_new = entry.turn_id not in seen
        if entry.turn_id is not None:
            seen.add(entry.turn_id)
        yield is_new and _may_open(entry)


def label_turns(entries: Iterable[Entry]) -> Iterator[str]:
    """The label of each message (`t_0001`, ...); "" before the first opening."""
    count = 0
    for opens in openings(entries):
        count += opens
        yield f"t_{count:04d}" if count else ""


def _may_open(entry: Entry) -> bool:
    message = entry.message
    if message.role is not Role.USER or is_summary(entry):
        return False
    return not any(isinstance(block, ToolResult | Nudge) for block in message.content)

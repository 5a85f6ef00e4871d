"""Turn labels: where turns begin in a view, as rewind counts them and clients group them.

Only the message that a turn opens with starts a label. What reaches the turn later (results, a nudge, a steer
after a reply) stays under it, and what no turn added (a compaction's summary) opens none.
"""

from collections.abc import Sequence

from meka.agent.blocks import Nudge, Role, ToolResult
from meka.agent.conversation import Entry


def openings(entries: Sequence[Entry]) -> list[int]:
    """The positions of the messages that turns open with, in order."""
    begun: set[str] = set()
    positions = []
    for position, entry in enumerate(entries):
        if _may_open(entry) and entry.turn_id not in begun:
            positions.append(position)
        if entry.turn_id is not None:
            begun.add(entry.turn_id)
    return positions


def label_turns(entries: Sequence[Entry]) -> list[str]:
    """The label of each message (`t_0001`, ...); "" before the first opening."""
    opening = set(openings(entries))
    labels, count = [], 0
    for position in range(len(entries)):
        count += position in opening
        labels.append(f"t_{count:04d}" if count else "")
    return labels


def _may_open(entry: Entry) -> bool:
    """Whether a message can be an opening: somebody's words, and no summary."""
    if entry.message.role is not Role.USER or "compaction" in (entry.meta or {}):
        return False
    return not any(isinstance(block, ToolResult | Nudge) for block in entry.message.content)

"""Pages of a conversation, and whether it takes more than a moment to put one together."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from meka.agent.blocks import Block, RedactedThinking, Thinking, ToolReference, ToolResult, ToolUse
from meka.agent.conversation import Entry
from meka.agent.labels import label_turns
from meka.service.views import entry_view

_SHORT_VIEW_MESSAGES = 1000
_SHORT_PAGE_MESSAGES = 50
_SHORT_PAGE_CHARACTERS = 65536
# A call's input is a tree that nobody has measured.
_CALL_CHARACTERS = 2000


def page_view(session_id: str, entries: Sequence[Entry], revision: int, shown: range) -> dict[str, Any]:
    """The messages at the places `shown`, and what identifies the whole conversation."""
    labeled = islice(zip(entries, label_turns(entries), strict=True), shown.start, shown.stop)
    return {
        "session_id": session_id,
        "messages": [entry_view(entry, label) for entry, label in labeled],
        "total": len(entries),
        "revision": revision,
    }


def is_long(entries: Sequence[Entry], shown: range) -> bool:
    """Whether a page takes more than a moment, for its rows or for what its blocks hold."""
    page = entries[shown.start : shown.stop]
    if len(entries) > _SHORT_VIEW_MESSAGES or len(page) > _SHORT_PAGE_MESSAGES:
        return True
    blocks = [block for entry in page for block in entry.message.content]
    return sum(map(_characters, blocks)) > _SHORT_PAGE_CHARACTERS


def _characters(block: Block) -> int:
    match block:
        case ToolUse():
            return _CALL_CHARACTERS
        case ToolResult():
            return sum(map(_characters, block.content))
        case Thinking():
            return len(block.thinking) + len(block.opaque)
        case RedactedThinking() | ToolReference():
            return 0
        case _:
            return len(getattr(block, "text", ""))

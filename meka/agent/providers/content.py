"""What a message holds, sorted the way that every protocol needs it."""

from collections.abc import Sequence

from meka.agent.blocks import (
    BackgroundReport,
    Block,
    Image,
    Inbox,
    Invocation,
    Nudge,
    Resource,
    Scheduled,
    Text,
    ToolReference,
    ToolResult,
    TurnContext,
)

EMPTY = "(no content)"

_WORDS = (Text, TurnContext, Nudge, Inbox, Scheduled, BackgroundReport, Invocation, Resource)


def words_of(block: Block) -> str | None:
    """What the model reads of a block of text, or None for a block of another kind (or of blanks alone)."""
    if isinstance(block, _WORDS):
        return block.text if block.text.strip() else None
    return None


def results_first(content: Sequence[Block]) -> list[Block]:
    """`content` with its tool results ahead of all else, since endpoints want a call's answer next to it."""
    results = [block for block in content if isinstance(block, ToolResult)]
    return [*results, *(block for block in content if not isinstance(block, ToolResult))]


def result_text(result: ToolResult) -> str:
    """A tool's answer for an endpoint that takes text alone: images and references are named."""
    return "\n".join(filter(None, map(_item_text, result.content)))


def _item_text(item: Text | Image | ToolReference) -> str:
    match item:
        case Text():
            return item.text
        case Image():
            return f"[image: {item.media_type}]"
        case ToolReference():
            return f"[tool {item.tool_name} is loaded]"

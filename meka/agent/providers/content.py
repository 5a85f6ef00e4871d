"""What a message holds, sorted the way that every protocol needs it."""

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


def result_text(result: ToolResult) -> str:
    """A tool's answer for an endpoint that takes text alone: images and references are named."""
    return "\n".join(filter(None, map(_item_text, result.content)))


def reference_text(reference: ToolReference) -> str:
    """What stands in the place of a reference that the provider does not expand."""
    return f"[tool {reference.tool_name} was loaded]"


def _item_text(item: Text | Image | ToolReference) -> str:
    match item:
        case Text():
            return item.text
        case Image():
            return f"[image: {item.media_type}]"
        case ToolReference():
            return reference_text(item)

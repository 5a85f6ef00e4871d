"""Turn labels: where turns begin in a view, as rewind counts them and clients group them."""

from collections.abc import Iterable, Iterator

from meka.agent.blocks import Message, Nudge, Role, ToolResult


def opens_turn(message: Message) -> bool:
    """Whether a message opens a turn: a user message with no tool result, and no nudge of meka's."""
    return message.role is Role.USER and not any(
        isinstance(block, ToolResult | Nudge) for block in message.content
    )


def label_turns(messages: Iterable[Message]) -> Iterator[str]:
    """The label of each message (`t_0001`, ...); "" before the first opening."""
    count = 0
    for message in messages:
        count += opens_turn(message)
        yield f"t_{count:04d}" if count else ""

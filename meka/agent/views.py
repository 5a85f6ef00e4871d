"""How blocks and messages are shown to clients: the one rendering, for answers and events alike."""

from collections.abc import Sequence
from typing import Any

from meka.agent.blocks import Block, Message, RedactedThinking, Thinking, ToolResult, to_record
from meka.agent.providers.base import Usage


def block_view(block: Block) -> dict[str, Any]:
    """A block without what only its backend may read."""
    if isinstance(block, Thinking):
        return {"type": block.type, "thinking": block.thinking}
    if isinstance(block, RedactedThinking):
        return {"type": block.type}
    if isinstance(block, ToolResult):
        return _result_view(block)
    return to_record(block)


def _result_view(block: ToolResult) -> dict[str, Any]:
    return {
        "type": block.type,
        "tool_use_id": block.tool_use_id,
        "is_error": block.is_error,
        "content": [block_view(item) for item in block.content],
    }


def message_view(message: Message, *, with_thinking: bool = True) -> dict[str, Any]:
    """A message's role and content; reasoning is left out where the session does not show it."""
    hidden = () if with_thinking else (Thinking, RedactedThinking)
    content = [block_view(block) for block in message.content if not isinstance(block, hidden)]
    return {"role": message.role.value, "content": content}


def messages_view(messages: Sequence[Message], *, with_thinking: bool) -> list[dict[str, Any]]:
    """`message_view` over several messages."""
    return [message_view(message, with_thinking=with_thinking) for message in messages]


def usage_view(usage: Usage) -> dict[str, int]:
    """The four counters, always all of them."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
    }

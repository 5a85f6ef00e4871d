"""How full the context window is: what was measured, and an estimate of what nothing has measured yet."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from meka.agent.blocks import (
    Block,
    Image,
    Message,
    RedactedThinking,
    Role,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
)
from meka.agent.providers.base import ToolSchema

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1500
MESSAGE_TOKENS = 4
_KEPT_SHARE = 10
_LEAST_KEPT, _MOST_KEPT = 4_000, 16_000


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Units: tokens. `measured` is what the provider counted last, 0 when nothing did since the last rewrite;
    `used` adds what came since; `overhead` is the system prompt and the tools."""

    measured: int
    used: int
    overhead: int
    window: int

    def is_above(self, percent: int) -> bool:
        """Whether what is used crosses that share of the window."""
        return self.used > ceiling(self.window, percent)


def ceiling(window_tokens: int, percent: int) -> int:
    """How many tokens may be used before the conversation is compacted."""
    return window_tokens * percent // 100


def verbatim_budget(window_tokens: int) -> int:
    """How many tokens a compaction may keep word for word."""
    return min(max(window_tokens // _KEPT_SHARE, _LEAST_KEPT), _MOST_KEPT)


def occupancy(measured: int, overhead: int, messages: Sequence[Message], window_tokens: int) -> Occupancy:
    """The window as it stands. A measurement reaches up to the model's last reply."""
    used = measured + estimate(_since_reply(messages)) if measured else overhead + estimate(messages)
    return Occupancy(measured, used, overhead, window_tokens)


def estimate(messages: Iterable[Message]) -> int:
    """The tokens that messages will take, roughly."""
    return sum(estimate_message(message) for message in messages)


def estimate_message(message: Message) -> int:
    """The tokens that one message will take, roughly."""
    return MESSAGE_TOKENS + sum(map(_estimate_block, message.content))


def estimate_text(text: str) -> int:
    """The tokens of a text, roughly."""
    return len(text.encode()) // BYTES_PER_TOKEN


def estimate_overhead(system: str, tools: Iterable[ToolSchema]) -> int:
    """The tokens that every request takes whatever the conversation is, roughly."""
    schemas = (f"{tool.name}{tool.description}{json.dumps(tool.parameters)}" for tool in tools)
    return estimate_text(system) + sum(map(estimate_text, schemas))


def _since_reply(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages behind the model's last one."""
    for position in range(len(messages), 0, -1):
        if messages[position - 1].role is Role.ASSISTANT:
            return messages[position:]
    return messages


def _estimate_block(block: Block) -> int:
    match block:
        case Image():
            return IMAGE_TOKENS
        case ToolResult():
            return sum(map(_estimate_block, block.content))
        case ToolUse():
            return estimate_text(block.name + json.dumps(block.input))
        case Thinking():
            return estimate_text(block.thinking + block.opaque)
        case RedactedThinking():
            return estimate_text(block.data)
        case ToolReference():
            return estimate_text(block.tool_name)
        case _:
            return estimate_text(block.text)

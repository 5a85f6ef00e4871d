"""Histories that a provider refuses: what is never sent to one, and what is tried when it says no.

A tier rewrites what the turn added since the provider last accepted a request; what is accepted is written.
"""

from collections.abc import Callable, Mapping, Sequence

from meka.agent.blocks import Block, Image, Message, Role, Text, ToolResult, ToolUse
from meka.agent.conversation import Entry
from meka.agent.providers.base import Cause, ProviderError
from meka.base.text import cut_utf8

Contents = Mapping[int, tuple[Block, ...]]
Tier = Callable[[Sequence[Entry]], Contents]

MEDIA_NOTE = "[left out: the model's provider refused the request that carried this]"
_EXCHANGE_NOTE = (
    "The provider refused the request that carried this call and its result; both are left out. The call was "
    "made and may have taken effect. Its arguments were: "
)
_ARGUMENT_BYTES = 2000
_SERVER_FAULT = 500


def is_repairable(error: ProviderError) -> bool:
    """Whether another history may be what the provider wants: it judged this one, or broke on it."""
    if error.cause in (Cause.MALFORMED, Cause.TOO_LARGE):
        return True
    return error.cause is Cause.TRANSIENT and error.status is not None and error.status >= _SERVER_FAULT


def mendable(error: ProviderError, stretch: Sequence[Entry]) -> Sequence[Entry]:
    """What a tier may change. A request that is only too large keeps what the person asks about: it is theirs
    to send less."""
    if error.cause is not Cause.TOO_LARGE:
        return stretch
    return [
        entry for entry in stretch if any(isinstance(b, ToolUse | ToolResult) for b in entry.message.content)
    ]


def without_media(stretch: Sequence[Entry]) -> Contents:
    """Tier 1: a note in the place of each image and reference; a result that held one counts as failed."""
    changed = {entry.seq: tuple(map(_without_media, entry.message.content)) for entry in stretch}
    return _differing(stretch, changed)


def _without_media(block: Block) -> Block:
    match block:
        case Image():
            return Text(MEDIA_NOTE)
        case ToolResult() if any(not isinstance(item, Text) for item in block.content):
            content = tuple(item if isinstance(item, Text) else Text(MEDIA_NOTE) for item in block.content)
            return ToolResult(block.tool_use_id, True, content)
        case _:
            return block


def without_exchanges(stretch: Sequence[Entry]) -> Contents:
    """Tier 2: calls without their arguments, which move into a result that says so."""
    made = {call.id: call for entry in stretch for call in entry.message.calls}
    changed = {
        entry.seq: tuple(_without_exchange(block, made) for block in entry.message.content)
        for entry in stretch
    }
    return _differing(stretch, changed)


def _without_exchange(block: Block, made: Mapping[str, ToolUse]) -> Block:
    match block:
        case ToolUse():
            return ToolUse(block.id, block.name, {})
        case ToolResult() if block.tool_use_id in made:
            given = cut_utf8(str(dict(made[block.tool_use_id].input)), _ARGUMENT_BYTES, "...")
            return ToolResult(block.tool_use_id, True, (Text(_EXCHANGE_NOTE + given),))
        case _:
            return block


def _differing(stretch: Sequence[Entry], changed: Contents) -> Contents:
    return {entry.seq: changed[entry.seq] for entry in stretch if changed[entry.seq] != entry.message.content}


TIERS: Mapping[str, Tier] = {
    "images and attachments": without_media,
    "tool calls and their results": without_exchanges,
}
"""What each tier leaves out, for the notice."""


def sendable(messages: Sequence[Message]) -> list[Message]:
    """The messages without results that answer no call of the message before: no provider takes those."""
    shown: list[Message] = []
    for message in messages:
        called = {call.id for call in shown[-1].calls} if shown else set()
        kept = _paired(message, called)
        if kept.content:
            shown.append(kept)
    return shown


def _paired(message: Message, called: set[str]) -> Message:
    if message.role is not Role.USER:
        return message
    content = tuple(
        block for block in message.content if not isinstance(block, ToolResult) or block.tool_use_id in called
    )
    return message if len(content) == len(message.content) else Message(message.role, content)

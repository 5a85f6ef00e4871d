"""The summarizer: one request without tools, where the session's own model did not hand over a summary."""

from collections.abc import Sequence

from meka.agent.asking import ask_quietly
from meka.agent.blocks import Message, Role, Text
from meka.agent.cancel import Cancel
from meka.agent.checkpoint import CheckpointPorts, Handover
from meka.agent.providers.base import Cause, ModelRequest, ProviderError
from meka.agent.reply import Reply
from meka.agent.summary import SUMMARIZER_PROMPT, summarizer_request

_ROOM_SHARE = 2


def summarize(
    messages: Sequence[Message],
    instructions: str | None,
    window_tokens: int,
    ports: CheckpointPorts,
    cancel: Cancel,
    handover: Handover,
) -> None:
    """Fill `handover` with a summary of the messages. Raises: ProviderError, CanceledError."""
    reply = Reply(ports.provider.backend, _unseen, ports.notify, lambda _call: None)
    words = summarizer_request(messages, instructions, window_tokens // _ROOM_SHARE)
    request = ModelRequest(
        session_id=ports.session_id,
        system=SUMMARIZER_PROMPT,
        messages=(Message(Role.USER, (Text(words),)),),
        tools=(),
        load_image=ports.load_image,
        stream=ports.streams,
        thinking=False,
    )
    try:
        ask_quietly(reply, request, ports.provider, ports.clock, cancel, ports.fall_back)
    finally:
        handover.usage = handover.usage + reply.spent + reply.usage
    summary = "".join(block.text for block in reply.content if isinstance(block, Text)).strip()
    if not summary:
        raise ProviderError(Cause.OTHER, "the model gave no summary of the conversation")
    handover.summary = summary


def _unseen(_name: str, _payload: object) -> None:
    """What a summarizer writes answers nobody."""

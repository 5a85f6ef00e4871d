"""The checkpoint: before its conversation is replaced, the model saves what matters and hands over a summary.

What is said here is sent on the live conversation and never written to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from meka.agent.asking import FallBack, ask_quietly
from meka.agent.blocks import Message, Role, Text
from meka.agent.cancel import Cancel
from meka.agent.providers.base import LoadImage, ModelRequest, Provider, Usage
from meka.agent.reply import Reply
from meka.agent.runner import Call, CallRunner, Emit, Finished
from meka.agent.summary import checkpoint_request, without_images
from meka.agent.toolbox import display_summary
from meka.base.clock import Clock

MOST_REQUESTS = 8
TOOLS = frozenset({
    "checklist_read", "conversation_read", "conversation_search", "file_find", "file_read", "file_search",
    "memory_edit", "memory_read", "memory_search", "memory_write",
    "scratchpad_edit", "scratchpad_list", "scratchpad_read", "scratchpad_write",
})  # fmt: skip
"""What of the session's tools a checkpoint may use, beside `context_replace`."""

_WRITES_MEMORY = "memory_write"


@dataclass(slots=True)
class Handover:
    """What a checkpoint comes to: the summary that `context_replace` took, and what was saved beside it."""

    summary: str | None = None
    keep_recent: bool | None = None
    memories: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class CheckpointPorts:
    """What a checkpoint is handed. `make_runner(handover)` gives the tools that fill the handover."""

    session_id: str
    provider: Provider
    fall_back: FallBack
    system_prompt: str
    load_image: LoadImage
    clock: Clock
    streams: bool
    emit: Emit
    notify: Callable[[str, str], None]
    make_runner: Callable[[Handover], CallRunner]


def run_checkpoint(
    messages: Sequence[Message],
    instructions: str | None,
    ports: CheckpointPorts,
    cancel: Cancel,
    handover: Handover,
) -> None:
    """Let the model fill `handover`; without a summary in the end it did not.

    Raises: ProviderError, CanceledError.
    """
    runner = ports.make_runner(handover)
    said = [*map(without_images, messages), Message(Role.USER, (Text(checkpoint_request(instructions)),))]
    for _ in range(MOST_REQUESTS):
        reply = _ask(said, runner, ports, cancel, handover)
        if not reply.calls:
            return
        said.append(Message(Role.ASSISTANT, reply.content))
        finished = runner.run(reply.calls)
        cancel.check()
        _note_memories(reply.calls, finished, handover)
        if handover.summary is not None:
            return
        said.append(without_images(Message(Role.USER, tuple(each.result for each in finished))))


def _ask(
    said: Sequence[Message], runner: CallRunner, ports: CheckpointPorts, cancel: Cancel, handover: Handover
) -> Reply:
    def emit(name: str, payload: object) -> None:
        # Words and reasoning of a checkpoint answer nobody; readers see what its calls do.
        if name.startswith("tool_call."):
            ports.emit(name, payload)  # type: ignore[arg-type]

    reply = Reply(
        ports.provider.backend,
        emit,
        ports.notify,
        lambda call: display_summary(runner.toolbox.get(call.name), call.input),
    )
    request = ModelRequest(
        session_id=ports.session_id,
        system=ports.system_prompt,
        messages=tuple(said),
        tools=runner.toolbox.schemas(()),
        load_image=ports.load_image,
        stream=ports.streams,
    )
    try:
        ask_quietly(reply, request, ports.provider, ports.clock, cancel, ports.fall_back)
    finally:
        handover.usage = handover.usage + reply.spent + reply.usage
    return reply


def _note_memories(calls: Sequence[Call], finished: Sequence[Finished], handover: Handover) -> None:
    for call, done in zip(calls, finished, strict=True):
        name = call.input.get("name")
        if call.name == _WRITES_MEMORY and not done.result.is_error and isinstance(name, str):
            handover.memories.append(name)

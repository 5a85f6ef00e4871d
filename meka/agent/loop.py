"""The agent loop: one turn, from its opening message to its ending. Read `open_turn` and `run_turn` first.

A round is one request to the model, and the calls that its reply makes. The assistant's message is stored
before its tools run, their results when all are there; so every call in the log has exactly one result, also
after a cancel.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gevent

from meka.agent.blocks import Block, Message, Nudge, Role, Text, Thinking
from meka.agent.cancel import CanceledError
from meka.agent.failures import failure_of
from meka.agent.providers.base import ModelRequest, ProviderError, StopReason
from meka.agent.providers.retry import stream_with_retries
from meka.agent.record import finish_unit, open_unit
from meka.agent.reply import Reply
from meka.agent.runner import Call, Finished, interrupted
from meka.agent.toolbox import display_summary
from meka.agent.turn import Ending, Status, Turn, TurnPorts
from meka.agent.views import message_view, usage_view
from meka.base.clock import rfc3339
from meka.base.errors import InternalError, MekaError, problem_of

LOG = logging.getLogger(__name__)

_ASK_FOR_WORDS = (
    "Your last reply held nothing the person can see. Answer in words, or call a tool if there is work left."
)
_STAND_INS = {
    StopReason.MAX_TOKENS: "[The reply reached its token limit before any visible text.]",
    StopReason.REFUSAL: "[The model declined to answer.]",
}
_NO_WORDS = "[The model ended its turn without any visible text.]"


def open_turn(turn: Turn, ports: TurnPorts) -> None:
    """Write the turn's row and its opening, then announce both.

    Raises: MekaError when the turn could not begin; nothing was written then.
    """
    close_unanswered_calls(ports)
    entry = ports.conversation.append(Role.USER, turn.opening, turn.id, open_unit(turn))
    turn.entries.append(entry)
    started = {"started_at": rfc3339(turn.started_at), "source": turn.source.value, **turn.started_extra}
    ports.emit("turn.started", started)
    announce_message(turn, ports, entry.message)


def run_turn(turn: Turn, ports: TurnPorts) -> Ending:
    """Run an opened turn to its end, whatever that is; the caller frees the session and announces the end."""
    try:
        return _run_rounds(turn, ports)
    except CanceledError:
        return _end(turn, ports, Status.CANCELED, reason=turn.cancel.reason)
    except ProviderError as error:
        LOG.warning(
            "the provider failed",
            extra={"turn_id": turn.id, "session_id": turn.session_id, "cause": error.cause.value,
                   "status": error.status, "upstream": error.upstream},
        )  # fmt: skip
        return _end(turn, ports, Status.FAILED, error=failure_of(error, ports.relay_errors))
    except MekaError as error:
        return _end(turn, ports, Status.FAILED, error=error)
    except Exception:
        LOG.exception("turn failed unexpectedly", extra={"turn_id": turn.id, "session_id": turn.session_id})
        return _end(turn, ports, Status.FAILED, error=InternalError())


def announce_message(turn: Turn, ports: TurnPorts, message: Message) -> None:
    """Tell readers of a message that entered the conversation whole."""
    ports.emit("message.appended", {"message": {**message_view(message), "turn_id": turn.id}})


def close_unanswered_calls(ports: TurnPorts) -> None:
    """Give each call that the last message made, and that a crash left open, its one result."""
    entries = ports.conversation.entries
    if entries and entries[-1].message.calls:
        results = tuple(interrupted(call.id) for call in entries[-1].message.calls)
        ports.conversation.append(Role.USER, results, entries[-1].turn_id)


def _run_rounds(turn: Turn, ports: TurnPorts) -> Ending:
    while True:
        _check_boundary(turn, ports)
        reply = _ask_model(turn, ports)
        if reply.calls:
            _append(turn, ports, Role.ASSISTANT, reply.content)
            _run_calls(turn, ports, reply.calls)
        elif _owes_words(turn, reply):
            _nudge_for_words(turn, ports, reply)
        else:
            return _succeed(turn, ports, reply)


def _check_boundary(turn: Turn, ports: TurnPorts) -> None:
    if ports.is_abandoned():
        turn.cancel.request("abandoned")
    turn.cancel.check()


def _ask_model(turn: Turn, ports: TurnPorts) -> Reply:
    """One request and its whole reply; a cut one leaves its text in the conversation."""
    reply = Reply(
        ports.provider.backend,
        ports.emit,
        ports.notify,
        lambda call: display_summary(ports.runner.toolbox.get(call.name), call.input),
        ports.shows_reasoning,
        ports.reasoning_is_watched,
    )
    reader = gevent.spawn(_read_reply, reply, turn, ports)
    reader.name = "provider-reader"
    try:
        turn.cancel.wait_beside([reader])
        if not reader.ready():
            reader.kill()
        turn.cancel.check()
        _raise(reader.value)
    except (CanceledError, ProviderError):
        _keep_partial(turn, ports, reply)
        raise
    finally:
        reader.kill()
        turn.usage = turn.usage + reply.spent + reply.usage
        turn.context_tokens = reply.usage.occupancy or turn.context_tokens
    return reply


def _read_reply(reply: Reply, turn: Turn, ports: TurnPorts) -> Exception | None:
    """The reader's greenlet. Its failure is its value: gevent would print what it raises."""
    try:
        _take_events(reply, turn, ports)
    except Exception as error:
        return error
    return None


def _raise(outcome: object) -> None:
    if isinstance(outcome, Exception):
        raise outcome


def _take_events(reply: Reply, turn: Turn, ports: TurnPorts) -> None:
    request = ModelRequest(
        session_id=turn.session_id,
        system=ports.system_prompt,
        messages=ports.conversation.messages,
        tools=ports.runner.toolbox.schemas(ports.loaded_tools()) if ports.provider.sends_tools else (),
        load_image=ports.load_image,
        stream=ports.streams,
    )
    events = stream_with_retries(
        ports.provider,
        request,
        clock=ports.clock,
        cancel=turn.cancel,
        was_published=lambda: reply.published,
    )
    for event in events:
        reply.take(event)


def _keep_partial(turn: Turn, ports: TurnPorts, reply: Reply) -> None:
    if any(block.text.strip() for block in reply.partial if isinstance(block, Text)):
        _append(turn, ports, Role.ASSISTANT, reply.partial)


def _run_calls(turn: Turn, ports: TurnPorts, calls: Sequence[Call]) -> None:
    """Run the calls and store their results; a cancel is looked at only when every call has its result."""
    finished: list[Finished] = ports.runner.run(calls)
    _append(turn, ports, Role.USER, tuple(item.result for item in finished))
    ports.note_loaded([name for item in finished for name in item.loaded])


def _owes_words(turn: Turn, reply: Reply) -> bool:
    """Whether the model is asked, once a turn, for something that can be seen."""
    return reply.is_silent and reply.stop_reason is StopReason.END_TURN and not turn.asked_for_words


def _nudge_for_words(turn: Turn, ports: TurnPorts, reply: Reply) -> None:
    turn.asked_for_words = True
    nudge = Nudge("visible_reply", _ASK_FOR_WORDS)
    before = reply.content or (Text(_NO_WORDS),)
    added = ports.conversation.append_all([(Role.ASSISTANT, before), (Role.USER, (nudge,))], turn.id)
    turn.entries.extend(added)
    ports.emit("turn.nudged", {"kind": nudge.kind, "text": nudge.text})


def _succeed(turn: Turn, ports: TurnPorts, reply: Reply) -> Ending:
    stop = reply.stop_reason or StopReason.END_TURN
    stop = StopReason.END_TURN if stop is StopReason.TOOL_USE else stop
    content = reply.content
    if reply.is_silent:
        thoughts = tuple(block for block in content if isinstance(block, Thinking))
        content = (*thoughts, Text(reply.refusal_text or _STAND_INS.get(stop, _NO_WORDS)))
    ending = Ending(
        Status.SUCCEEDED,
        turn.usage,
        stop_reason=stop,
        refusal_text=reply.refusal_text if stop is StopReason.REFUSAL else "",
        revision=ports.conversation.revision,
    )
    unit = finish_unit(turn, ending)
    turn.entries.append(ports.conversation.append(Role.ASSISTANT, content, turn.id, unit))
    return ending


def _append(turn: Turn, ports: TurnPorts, role: Role, content: Sequence[Block]) -> None:
    turn.entries.append(ports.conversation.append(role, content, turn.id))


def _end(turn: Turn, ports: TurnPorts, status: Status, **parts: Any) -> Ending:
    """End a turn that did not succeed. What cannot be written is logged: the terminal goes out anyway."""
    withdrawn = turn.withdraws and len(turn.entries) == 1
    ending = Ending(status, turn.usage, message_withdrawn=withdrawn, **parts)
    try:
        if withdrawn:
            ports.conversation.withdraw(turn.entries, finish_unit(turn, ending))
            turn.entries.clear()
        else:
            ports.database.write(finish_unit(turn, ending))
    except MekaError:
        LOG.exception("the end of a turn could not be stored", extra={"turn_id": turn.id})
        ending = replace(ending, message_withdrawn=False)
    return replace(ending, revision=ports.conversation.revision)


def terminal_of(ending: Ending) -> tuple[str, dict[str, Any]]:
    """The terminal event's name and payload."""
    if ending.stop_reason is not None:
        payload: dict[str, Any] = {
            "stop_reason": ending.stop_reason.value,
            "usage": usage_view(ending.usage),
            "revision": ending.revision,
        }
        return "turn.finished", payload | (
            {"refusal_text": ending.refusal_text} if ending.refusal_text else {}
        )
    payload = {"revision": ending.revision, "message_withdrawn": ending.message_withdrawn}
    if ending.error is not None:
        return "turn.failed", {"error": problem_of(ending.error), **payload}
    return "turn.canceled", {"reason": ending.reason, **payload}

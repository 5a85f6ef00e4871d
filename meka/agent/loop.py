"""The agent loop: one turn, from its opening message to its ending. Read `open_turn` and `run_turn` first.

A round is one request to the model, and the calls that its reply makes. The assistant's message is stored
before its tools run, their results when all are there; so every call in the log has exactly one result, also
after a cancel.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import gevent

from meka.agent.asking import raise_failure, spawn_reader
from meka.agent.blocks import BackgroundReport, Block, Inbox, Message, Role, Text, Thinking
from meka.agent.cancel import CanceledError
from meka.agent.conversation import Conversation, Entry, Unit, overlay
from meka.agent.failures import failure_of
from meka.agent.mail import Letters, Moment, store
from meka.agent.nudges import More, announce_nudge, what_follows
from meka.agent.providers.base import Cause, ModelRequest, ProviderError, StopReason
from meka.agent.record import finish_unit, open_unit
from meka.agent.redaction import make_room
from meka.agent.repair import TIERS, Contents, is_repairable, mendable, sendable
from meka.agent.reply import Reply
from meka.agent.runner import Call, Finished, interrupted
from meka.agent.toolbox import display_summary
from meka.agent.turn import Ending, Source, Status, Turn, TurnPorts
from meka.agent.views import message_view, usage_view
from meka.agent.window import rescue, tend_opening, tend_round
from meka.base.clock import rfc3339
from meka.base.errors import InternalError, MekaError, problem_of

LOG = logging.getLogger(__name__)

_STAND_INS = {
    StopReason.MAX_TOKENS: "[The reply reached its token limit before any visible text.]",
    StopReason.REFUSAL: "[The model declined to answer.]",
}
_REFUSED_CREDENTIAL = "the provider refused the account's credential; `meka account login` stores another"
_NO_WORDS = "[The model ended its turn without any visible text.]"


def open_turn(turn: Turn, ports: TurnPorts) -> None:
    """Write the turn's row and its opening, then announce both.

    Raises: MekaError when the turn could not begin; nothing was written then.
    """
    close_unanswered_calls(ports.conversation)
    entry = store(
        turn.letters,
        lambda _: ports.conversation.append(Role.USER, turn.opening, turn.id, open_unit(turn)),
    )
    turn.entries.append(entry)
    turn.accepted_seq = entry.seq - 1
    _add_latecomers(turn, ports)
    if turn.source is Source.INBOX:
        items = [block.item_id for block in turn.opening if isinstance(block, Inbox)]
        turn.started_extra = {"item_ids": items}
    started = {"started_at": rfc3339(turn.started_at), "source": turn.source.value, **turn.started_extra}
    ports.emit("turn.started", started)
    announce_message(turn, ports, turn.entries[0].message)


def _add_latecomers(turn: Turn, ports: TurnPorts) -> None:
    """What landed while the opening was written rides it: nothing was asked of the model yet."""
    while (letters := ports.mail.take(Moment.LATE)) is not None:
        _join(turn, ports, turn.entries[0], letters)
        turn.opening = turn.entries[0].message.content


def _join(turn: Turn, ports: TurnPorts, entry: Entry, letters: Letters) -> None:
    """Add letters to a message that nothing has answered, in one write."""
    joined = store(letters, lambda unit: ports.conversation.extend(entry, letters.blocks, unit))
    turn.entries = [joined if each.seq == joined.seq else each for each in turn.entries]


def run_turn(turn: Turn, ports: TurnPorts) -> Ending:
    """Run an opened turn to its end, whatever that is; the caller frees the session and announces the end."""
    try:
        return _run_rounds(turn, ports)
    except CanceledError:
        return _end(turn, ports, Status.CANCELED, reason=turn.cancel.reason)
    except ProviderError as error:
        LOG.warning(
            _REFUSED_CREDENTIAL if error.cause is Cause.CREDENTIAL else "the provider failed",
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


def close_unanswered_calls(conversation: Conversation) -> None:
    """Give each call that the last message made, and that a crash left open, its one result."""
    entries = conversation.entries
    if entries and entries[-1].message.calls:
        results = tuple(interrupted(call.id) for call in entries[-1].message.calls)
        conversation.append(Role.USER, results, entries[-1].turn_id)


def _run_rounds(turn: Turn, ports: TurnPorts) -> Ending:
    tend_opening(turn, ports)
    while True:
        _check_boundary(turn, ports)
        tend_round(turn, ports)
        try:
            reply = _ask_model(turn, ports)
        except InterruptedReplyError as cut:
            _read_interrupt(turn, ports, cut)
            continue
        if reply.calls:
            _append(turn, ports, Role.ASSISTANT, reply.content)
            _run_calls(turn, ports, reply.calls)
            continue
        more = what_follows(turn, ports, reply)
        if more is None:
            return _succeed(turn, ports, reply)
        _go_on(turn, ports, reply, more)


def _check_boundary(turn: Turn, ports: TurnPorts) -> None:
    if ports.is_abandoned():
        turn.cancel.request("abandoned")
    turn.cancel.check()


class InterruptedReplyError(Exception):
    """A reply was cut to let `letters` in; `partial` is the text that had arrived."""

    def __init__(self, partial: tuple[Block, ...], letters: Letters) -> None:
        super().__init__()
        self.partial = partial
        self.letters = letters


def _ask_model(turn: Turn, ports: TurnPorts) -> Reply:
    """A reply, where need be to a conversation that was made shorter or mended. Raises: ProviderError."""
    try:
        return _ask_fitting(turn, ports)
    except ProviderError as error:
        if turn.is_answering:
            raise
        if error.cause is Cause.OVERFLOW and rescue(turn, ports):
            return _ask_fitting(turn, ports)
        return _ask_mended(turn, ports, error)


def _ask_fitting(turn: Turn, ports: TurnPorts) -> Reply:
    """One request and its whole reply, without the oldest images where it is too large with them."""
    while True:
        try:
            return _ask_once(turn, ports)
        except ProviderError as error:
            if not make_room(turn, ports, error):
                raise


def _ask_mended(turn: Turn, ports: TurnPorts, error: ProviderError) -> Reply:
    """Try what the repair tiers make of what the turn added; a tier that is refused too is undone."""
    stretch = [entry for entry in ports.conversation.entries if entry.seq > turn.accepted_seq]
    for what, tier in TIERS.items():
        if not is_repairable(error):
            break
        contents = tier(mendable(error, stretch))
        if not contents:
            continue
        try:
            return _ask_once(turn, ports, contents)
        except ProviderError as again:
            if turn.is_answering:
                raise
            error = again
        finally:
            if turn.accepted_seq >= stretch[-1].seq:
                _keep_repair(turn, ports, what, contents)
    raise error


def _keep_repair(turn: Turn, ports: TurnPorts, what: str, contents: Contents) -> None:
    """The provider accepted the mended conversation: it is the conversation from now on."""
    ports.conversation.repair(contents)
    turn.entries = overlay(turn.entries, contents)
    ports.notify("warn", f"The provider refused the request; it was sent again without its {what}.")


def _ask_once(turn: Turn, ports: TurnPorts, repaired: Contents = MappingProxyType({})) -> Reply:
    """One request and its whole reply; a cut one leaves its text in the conversation."""
    reply = Reply(
        ports.provider.backend,
        ports.emit,
        ports.notify,
        lambda call: display_summary(ports.runner.toolbox.get(call.name), call.input),
        ports.shows_reasoning,
        ports.reasoning_is_watched,
    )
    request, on_accepted = _request(turn, ports, repaired), _accepted_up_to(turn, ports)
    reader = spawn_reader(
        reply, request, ports.provider, ports.clock, turn.cancel, on_accepted, ports.fall_back
    )
    turn.is_answering = False
    try:
        letters = _wait_for_reply(reader, turn, ports)
        if letters is not None:
            reader.kill()
            raise InterruptedReplyError(reply.partial, letters)
        raise_failure(reader.value)
    except (CanceledError, ProviderError):
        _keep_words(turn, ports, reply.partial)
        raise
    finally:
        reader.kill()
        turn.usage = turn.usage + reply.spent + reply.usage
        turn.context_tokens = reply.usage.occupancy or turn.context_tokens
        turn.is_answering = reply.published
    return reply


def _wait_for_reply(reader: gevent.Greenlet, turn: Turn, ports: TurnPorts) -> Letters | None:
    """Wait for the reply's end, or for what cuts it: then the letters that do. Raises: CanceledError."""
    while True:
        turn.cancel.wait_beside([reader, ports.mail.interrupt])
        if turn.cancel.requested:
            reader.kill()
        turn.cancel.check()
        if reader.ready():
            return None
        # What set the event may have been withdrawn meanwhile; then nothing is cut.
        letters = ports.mail.take(Moment.CUT)
        if letters is None:
            continue
        if not reader.ready():
            return letters
        letters.drop()


def _request(turn: Turn, ports: TurnPorts, repaired: Contents) -> ModelRequest:
    entries = overlay(ports.conversation.entries, repaired) if repaired else ports.conversation.entries
    return ModelRequest(
        session_id=turn.session_id,
        system=ports.system_prompt,
        messages=sendable([entry.message for entry in entries]),
        tools=ports.runner.toolbox.schemas(ports.loaded_tools()) if ports.provider.sends_tools else (),
        load_image=ports.load_image,
        stream=ports.streams,
        deferred_tools=ports.runner.toolbox.deferred_schemas() if ports.provider.expands_references else (),
    )


def _accepted_up_to(turn: Turn, ports: TurnPorts) -> Callable[[], None]:
    """What is to be noted once the provider accepts the conversation as it is now."""
    last = ports.conversation.entries[-1].seq

    def note() -> None:
        turn.accepted_seq = max(turn.accepted_seq, last)
        ports.mail.accepted()

    return note


def _keep_words(turn: Turn, ports: TurnPorts, partial: tuple[Block, ...]) -> None:
    if _has_words(partial):
        _append(turn, ports, Role.ASSISTANT, partial)


def _has_words(blocks: Sequence[Block]) -> bool:
    return any(block.text.strip() for block in blocks if isinstance(block, Text))


def _blocks(letters: Letters | None) -> tuple[Block, ...]:
    return () if letters is None else letters.blocks


def _run_calls(turn: Turn, ports: TurnPorts, calls: Sequence[Call]) -> None:
    """Run the calls and store their results; a cancel is looked at only when every call has its result."""
    finished: list[Finished] = ports.runner.run(calls)
    results = tuple(item.result for item in finished)
    # A turn that is about to be canceled leaves what waits to the next one.
    letters = None if turn.cancel.requested else ports.mail.take(Moment.TOOLS)
    _append(turn, ports, Role.USER, (*results, *_blocks(letters)), letters)
    ports.note_loaded([name for item in finished for name in item.loaded])
    for block in _blocks(letters):
        if isinstance(block, BackgroundReport):
            ports.emit("task.reported", {"text": block.text, "task_ids": list(block.task_ids)})
    turn.nudges_in_a_row = 0
    ports.note_checklist()


def _go_on(turn: Turn, ports: TurnPorts, reply: Reply, more: More) -> None:
    """Store the reply and what follows it, and say so."""
    follows = (*((more.nudge,) if more.nudge else ()), *_blocks(more.letters))
    # A reply of nothing at all leaves no message: the model is simply asked again.
    said = [(Role.ASSISTANT, reply.content)] if reply.content else []
    messages = [*said, (Role.USER, follows)]
    added = store(more.letters, lambda unit: ports.conversation.append_all(messages, turn.id, unit))
    turn.entries.extend(added)
    if more.nudge is None:
        announce_message(turn, ports, added[-1].message)
    else:
        announce_nudge(turn, ports, more.nudge)


def _read_interrupt(turn: Turn, ports: TurnPorts, cut: InterruptedReplyError) -> None:
    """Let the interrupt in: behind the text that had arrived, else joined onto what was not answered yet."""
    ports.notify("info", cut.letters.cause)
    if not _has_words(cut.partial):
        _join(turn, ports, ports.conversation.entries[-1], cut.letters)
        return
    messages = [(Role.ASSISTANT, cut.partial), (Role.USER, cut.letters.blocks)]
    added = store(cut.letters, lambda unit: ports.conversation.append_all(messages, turn.id, unit))
    turn.entries.extend(added)
    announce_message(turn, ports, added[1].message)


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


def _append(
    turn: Turn, ports: TurnPorts, role: Role, content: Sequence[Block], letters: Letters | None = None
) -> None:
    entry = store(letters, lambda unit: ports.conversation.append(role, content, turn.id, unit))
    turn.entries.append(entry)


def _end(turn: Turn, ports: TurnPorts, status: Status, **parts: Any) -> Ending:
    """End a turn that did not succeed. What cannot be written is logged: the terminal goes out anyway."""
    withdrawn = turn.withdraws and len(turn.entries) == 1
    ending = Ending(status, turn.usage, message_withdrawn=withdrawn, **parts)
    unit = finish_unit(turn, ending)
    try:
        if withdrawn:
            _take_back(turn, ports, unit)
        else:
            ports.database.write(lambda tx: unit(tx, ()))
    except Exception:
        LOG.exception("the end of a turn could not be stored", extra={"turn_id": turn.id})
        ending = replace(ending, message_withdrawn=False)
    return replace(ending, revision=ports.conversation.revision)


def _take_back(turn: Turn, ports: TurnPorts, unit: Unit) -> None:
    """Take the opening out of the conversation, but for the outcomes that rode it: those are told once."""
    (opening,) = turn.entries
    told = tuple(block for block in opening.message.content if isinstance(block, BackgroundReport))
    if told:
        ports.conversation.rewrite(opening, told, unit)
    else:
        ports.conversation.withdraw([opening], unit)
    turn.entries.clear()


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

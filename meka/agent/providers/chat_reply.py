"""A Chat Completions reply, streamed or whole, as neutral events."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from meka.agent.providers.base import (
    MessageEnd,
    ProviderEvent,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.providers.calls import ToolNames, finished_call
from meka.agent.providers.decoder import DONE, Payload
from meka.agent.providers.failures import error_of, stream_cut, stream_failure, unreadable
from meka.agent.providers.wire import count, object_of, text_of
from meka.base.ids import Ids

_STOP_REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.REFUSAL,
}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Call:
    """A call whose fragments are coming in."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    arguments: object = None  # where an endpoint sends the object itself


class ChatDecoder:
    """One reply of the Chat Completions API."""

    def __init__(self, names: ToolNames, ids: Ids) -> None:
        self.stopped = False
        self.finished = False
        self._names = names
        self._ids = ids
        self._calls: dict[int, _Call] = {}
        self._finish_reason: str | None = None
        self._refusal: list[str] = []
        self._thinking = False

    def feed(self, payload: Payload) -> Iterator[ProviderEvent]:
        if payload.name == DONE:
            self.stopped = self.finished = True
            return
        body = payload.body
        self._check(body)
        yield from _usage(body.get("usage"))
        choice = _first_choice(body)
        if choice is not None:
            self._take_reason(choice.get("finish_reason"))
            yield from self._take_delta(object_of(choice.get("delta")))

    def end(self) -> Iterator[ProviderEvent]:
        if not self.stopped:
            raise stream_cut()
        yield from self._finish(composing=True)

    def whole(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        self._check(body)
        choice = _first_choice(body)
        if choice is None:
            raise unreadable()
        yield from self._take_delta(object_of(choice.get("message")))
        yield from _usage(body.get("usage"))
        self._take_reason(choice.get("finish_reason"))
        yield from self._finish(composing=False)

    @staticmethod
    def _check(body: Mapping[str, Any]) -> None:
        error = error_of(body)
        if error is not None:
            raise stream_failure(error)

    def _take_delta(self, delta: Mapping[str, Any]) -> Sequence[ProviderEvent]:
        events: list[ProviderEvent] = []
        thoughts = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        if thoughts:
            self._thinking = True
            events.append(ThinkingDelta(thoughts))
        text = _content_text(delta.get("content"))
        if text:
            events += self._end_thinking()
            events.append(TextDelta(text))
        refusal = text_of(delta.get("refusal"))
        if refusal:
            self._refusal.append(refusal)
        calls = delta.get("tool_calls")
        for position, fragment in enumerate(calls if isinstance(calls, list) else ()):
            self._take_fragment(position, object_of(fragment))
        return events

    def _end_thinking(self) -> Sequence[ProviderEvent]:
        if not self._thinking:
            return ()
        self._thinking = False
        return (ThinkingComplete(),)

    def _take_fragment(self, position: int, fragment: Mapping[str, Any]) -> None:
        """Add to the call of the fragment's index; only the first fragment of a call has its id and name."""
        index = fragment.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _Call())
        function = object_of(fragment.get("function")) or fragment
        call.id = call.id or text_of(fragment.get("id"))
        call.name = call.name or text_of(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.pieces.append(arguments)
        elif arguments is not None:
            call.arguments = arguments

    def _take_reason(self, reason: object) -> None:
        if isinstance(reason, str) and reason:
            self.stopped = True
            self._finish_reason = reason

    def _finish(self, *, composing: bool) -> Iterator[ProviderEvent]:
        yield from self._end_thinking()
        seen: set[str] = set()
        for _, call in sorted(self._calls.items()):
            if not call.id or call.id in seen:
                call.id = f"call_{self._ids.new()}"
            seen.add(call.id)
            yield from self._call_events(call, composing)
        refusal = "".join(self._refusal)
        reason = StopReason.REFUSAL if refusal else self._stop_reason()
        yield MessageEnd(reason, refusal if reason is StopReason.REFUSAL else "")

    def _call_events(self, call: _Call, composing: bool) -> Iterator[ProviderEvent]:
        name = self._names.from_wire(call.name)
        if composing:
            yield ToolStart(call.id, name)
        yield finished_call(call.id, name, "".join(call.pieces) or call.arguments or "")

    def _stop_reason(self) -> StopReason:
        """The stated reason; a plain or unknown one gives way to the calls, which must be answered."""
        reason = self._finish_reason
        if reason is not None and reason not in _STOP_REASONS:
            _log.warning("the model stopped for a reason that is not known here: %.40s", reason)
        known = _STOP_REASONS.get(reason or "", StopReason.END_TURN)
        return StopReason.TOOL_USE if known is StopReason.END_TURN and self._calls else known


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _content_text(content: object) -> str:
    """The text of `content`, which some endpoints split into parts."""
    if isinstance(content, list):
        return "".join(text_of(object_of(part).get("text")) for part in content)
    return text_of(content)


def _usage(usage: object) -> Sequence[UsageReport]:
    """The tiers of the input add up: what was read from the cache is no other input."""
    if not isinstance(usage, dict):
        return ()
    cached = count(object_of(usage.get("prompt_tokens_details")).get("cached_tokens"))
    counted = Usage(
        input_tokens=max(0, count(usage.get("prompt_tokens")) - cached),
        output_tokens=count(usage.get("completion_tokens")),
        cache_read_input_tokens=cached,
    )
    return (UsageReport(counted),)

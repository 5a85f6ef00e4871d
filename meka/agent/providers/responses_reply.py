"""A streamed Responses reply as neutral events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from meka.agent.providers.base import (
    Cause,
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
from meka.agent.providers.decoder import Payload
from meka.agent.providers.failures import error_of, failure, stream_cut, stream_failure, unreadable
from meka.agent.providers.wire import count, object_of, text_of
from meka.base.ids import Ids

_PARAGRAPH = "\n\n"


@dataclass(slots=True)
class _Call:
    """A function call that is being written."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


class ResponsesDecoder:
    """One reply of the Responses API."""

    def __init__(self, names: ToolNames, ids: Ids) -> None:
        self.stopped = False
        self.finished = False
        self._names = names
        self._ids = ids
        self._open: dict[str, _Call] = {}
        self._called = False
        self._thinking = False
        self._refusal: list[str] = []
        self._stop = StopReason.END_TURN

    def feed(self, payload: Payload) -> Iterator[ProviderEvent]:
        body = payload.body
        match payload.name:
            case "response.output_text.delta":
                yield from self._text(text_of(body.get("delta")))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                yield from self._think(text_of(body.get("delta")))
            case "response.reasoning_summary_part.added":
                yield from self._think(_PARAGRAPH if self._thinking else "")
            case "response.output_item.added":
                yield from self._start_item(body)
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                self._collect(body)
            case "response.output_item.done":
                yield from self._finish_item(body)
            case "response.refusal.delta":
                self._refusal.append(text_of(body.get("delta")))
            case "response.refusal.done":
                self._refusal = [text_of(body.get("refusal")) or "".join(self._refusal)]
            case "response.completed":
                yield from self._complete(object_of(body.get("response")))
            case "response.incomplete":
                yield from self._cut_short(object_of(body.get("response")))
            case "response.failed":
                raise stream_failure(object_of(body.get("response")).get("error") or "response.failed")
            case "error":
                raise stream_failure(body.get("error") or body)

    def end(self) -> Iterator[ProviderEvent]:
        if not self.stopped:
            raise stream_cut()
        yield from self._end_thinking()
        for call in self._open.values():
            yield from self._finish_call(call, "")
        refusal = "".join(self._refusal)
        if refusal:
            yield MessageEnd(StopReason.REFUSAL, refusal)
        elif self._called and self._stop is StopReason.END_TURN:
            yield MessageEnd(StopReason.TOOL_USE)
        else:
            yield MessageEnd(self._stop)

    def whole(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        """An endpoint that answered a stream's request with a whole response: its items, as if streamed."""
        error = error_of(body)
        if error is not None:
            raise stream_failure(error)
        if not isinstance(body.get("output"), list):
            raise unreadable()
        for position, item in enumerate(body["output"]):
            yield from self._whole_item(position, object_of(item))
        status = "incomplete" if body.get("status") == "incomplete" else "completed"
        yield from self.feed(Payload(f"response.{status}", {"response": body}))
        yield from self.end()

    def _whole_item(self, position: int, item: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        parts = item.get("content") or item.get("summary")
        for part in map(object_of, parts if isinstance(parts, list) else ()):
            match part.get("type"):
                case "output_text":
                    yield from self._text(text_of(part.get("text")))
                case "summary_text" | "reasoning_text":
                    yield from self._think(text_of(part.get("text")))
                case "refusal":
                    self._refusal.append(text_of(part.get("refusal")))
        yield from self._finish_item({"output_index": position, "item": item})

    def _text(self, text: str) -> Iterator[ProviderEvent]:
        if text:
            yield from self._end_thinking()
            yield TextDelta(text)

    def _think(self, text: str) -> Iterator[ProviderEvent]:
        if text:
            self._thinking = True
            yield ThinkingDelta(text)

    def _end_thinking(self) -> Iterator[ProviderEvent]:
        if self._thinking:
            self._thinking = False
            yield ThinkingComplete()

    def _start_item(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        item = object_of(body.get("item"))
        if item.get("type") == "function_call":
            yield from self._end_thinking()
            call = self._new_call(item)
            self._open[_key(body)] = call
            yield ToolStart(call.id, call.name)

    def _new_call(self, item: Mapping[str, Any]) -> _Call:
        call_id = text_of(item.get("call_id")) or f"call_{self._ids.new()}"
        return _Call(call_id, self._names.from_wire(text_of(item.get("name"))))

    def _collect(self, body: Mapping[str, Any]) -> None:
        call = self._open.get(_key(body))
        if call is not None:
            call.pieces.append(text_of(body.get("delta")))

    def _finish_item(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        item = object_of(body.get("item"))
        if item.get("type") == "function_call":
            call = self._open.pop(_key(body), None)
            if call is None:
                call = self._new_call(item)
                yield ToolStart(call.id, call.name)
            yield from self._finish_call(call, text_of(item.get("arguments")))
        elif item.get("type") == "reasoning":
            sealed = text_of(item.get("encrypted_content"))
            if self._thinking or sealed:
                self._thinking = False
                yield ThinkingComplete(sealed, text_of(item.get("id")))

    def _finish_call(self, call: _Call, arguments: str) -> Iterator[ProviderEvent]:
        """The whole call; its final arguments are trusted over the pieces."""
        self._called = True
        yield finished_call(call.id, call.name, arguments or "".join(call.pieces))

    def _complete(self, response: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        yield from _usage(response.get("usage"))
        self.stopped = self.finished = True

    def _cut_short(self, response: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        reason = object_of(response.get("incomplete_details")).get("reason")
        if reason != "max_output_tokens":
            raise failure(
                Cause.OTHER, f"incomplete: {reason}", sentence="the model provider ended the reply early"
            )
        self._stop = StopReason.MAX_TOKENS
        yield from self._complete(response)


def _key(body: Mapping[str, Any]) -> str:
    """What joins an item's events: its place in the output, or its id."""
    index = body.get("output_index")
    return (
        str(index)
        if index is not None
        else text_of(body.get("item_id") or object_of(body.get("item")).get("id"))
    )


def _usage(usage: object) -> Iterator[UsageReport]:
    """The tiers of the input add up: what was read from the cache is no other input."""
    if isinstance(usage, Mapping):
        cached = count(object_of(usage.get("input_tokens_details")).get("cached_tokens"))
        yield UsageReport(
            Usage(
                input_tokens=max(0, count(usage.get("input_tokens")) - cached),
                output_tokens=count(usage.get("output_tokens")),
                cache_read_input_tokens=cached,
            )
        )

"""An Anthropic Messages reply, streamed or whole, as neutral events."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from meka.agent.providers.base import (
    MessageEnd,
    ProviderEvent,
    RedactedThinkingPart,
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
from meka.agent.providers.failures import error_of, stream_cut, stream_failure, unreadable
from meka.agent.providers.wire import count, object_of, text_of
from meka.base.ids import Ids

_STOP_REASONS: Mapping[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "model_context_window_exceeded": StopReason.MAX_TOKENS,
}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _OpenBlock:
    """A content block that is being written."""

    kind: str
    id: str = ""
    name: str = ""
    input: object = None
    pieces: list[str] = field(default_factory=list)  # of the arguments, or of the signature


class AnthropicDecoder:
    """One reply of the Messages API."""

    def __init__(self, names: ToolNames, ids: Ids) -> None:
        self.stopped = False
        self.finished = False
        self._names = names
        self._ids = ids
        self._open: dict[str, _OpenBlock] = {}
        self._stop: StopReason = StopReason.END_TURN

    def feed(self, payload: Payload) -> Iterator[ProviderEvent]:
        body = payload.body
        match payload.name:
            case "message_start":
                yield from _usage(object_of(body.get("message")).get("usage"))
            case "content_block_start":
                yield from self._start_block(str(body.get("index")), object_of(body.get("content_block")))
            case "content_block_delta":
                yield from self._take_delta(str(body.get("index")), object_of(body.get("delta")))
            case "content_block_stop":
                yield from self._stop_block(str(body.get("index")))
            case "message_delta":
                yield from _usage(body.get("usage"))
                self._take_stop(object_of(body.get("delta")).get("stop_reason"))
            case "message_stop":
                self.finished = True
            case "error":
                raise stream_failure(body.get("error") or body)

    def end(self) -> Iterator[ProviderEvent]:
        if not self.stopped:
            raise stream_cut()
        for index in list(self._open):
            yield from self._stop_block(index)
        yield MessageEnd(self._stop)

    def whole(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        error = error_of(body)
        if error is not None:
            raise stream_failure(error)
        if not isinstance(body.get("content"), list):
            raise unreadable()
        for block in body["content"]:
            yield from self._whole_block(object_of(block))
        yield from _usage(body.get("usage"))
        self._take_stop(body.get("stop_reason") or "end_turn")
        yield MessageEnd(self._stop)

    def _start_block(self, index: str, block: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        opened = _OpenBlock(text_of(block.get("type")))
        self._open[index] = opened
        match opened.kind:
            case "text":
                yield from _text(block.get("text"))
            case "thinking":
                opened.pieces.append(text_of(block.get("signature")))
                yield from _thinking(block.get("thinking"))
            case "redacted_thinking":
                yield RedactedThinkingPart(text_of(block.get("data")))
            case "tool_use":
                opened.id = self._call_id(block)
                opened.name = self._names.from_wire(text_of(block.get("name")))
                opened.input = block.get("input")
                yield ToolStart(opened.id, opened.name)

    def _take_delta(self, index: str, delta: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        match delta.get("type"):
            case "text_delta":
                yield from _text(delta.get("text"))
            case "thinking_delta":
                yield from _thinking(delta.get("thinking"))
            case "input_json_delta":
                self._collect(index, delta.get("partial_json"))
            case "signature_delta":
                self._collect(index, delta.get("signature"))

    def _collect(self, index: str, piece: object) -> None:
        if index in self._open:
            self._open[index].pieces.append(text_of(piece))

    def _stop_block(self, index: str) -> Iterator[ProviderEvent]:
        block = self._open.pop(index, None)
        if block is None:
            return
        joined = "".join(block.pieces)
        if block.kind == "thinking":
            yield ThinkingComplete(joined)
        elif block.kind == "tool_use":
            arguments = joined or block.input or ""
            yield finished_call(block.id, block.name, arguments)

    def _take_stop(self, reason: object) -> None:
        if not isinstance(reason, str):
            return
        self.stopped = True
        if reason not in _STOP_REASONS:
            _log.warning("the model stopped for a reason that is not known here: %.40s", reason)
        self._stop = _STOP_REASONS.get(reason, StopReason.END_TURN)

    def _whole_block(self, block: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        match block.get("type"):
            case "text":
                yield from _text(block.get("text"))
            case "thinking":
                yield from _thinking(block.get("thinking"))
                yield ThinkingComplete(text_of(block.get("signature")))
            case "redacted_thinking":
                yield RedactedThinkingPart(text_of(block.get("data")))
            case "tool_use":
                name = self._names.from_wire(text_of(block.get("name")))
                yield finished_call(self._call_id(block), name, block.get("input") or "")

    def _call_id(self, block: Mapping[str, Any]) -> str:
        return text_of(block.get("id")) or f"toolu_{self._ids.new()}"


def _text(text: object) -> Iterator[TextDelta]:
    if isinstance(text, str) and text:
        yield TextDelta(text)


def _thinking(text: object) -> Iterator[ThinkingDelta]:
    if isinstance(text, str) and text:
        yield ThinkingDelta(text)


def _usage(usage: object) -> Iterator[UsageReport]:
    if isinstance(usage, Mapping):
        yield UsageReport(
            Usage(
                count(usage.get("input_tokens")),
                count(usage.get("output_tokens")),
                count(usage.get("cache_creation_input_tokens")),
                count(usage.get("cache_read_input_tokens")),
            )
        )

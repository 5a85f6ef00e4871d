"""One reply of the model as it arrives: gathered into blocks, and told to the feed piece by piece."""

from collections.abc import Callable, Mapping
from typing import Any

from meka.agent.blocks import Block, RedactedThinking, Text, Thinking, ToolUse
from meka.agent.providers.base import (
    Accepted,
    AttemptFailed,
    MessageEnd,
    ProviderEvent,
    ProviderNotice,
    RedactedThinkingPart,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolEnd,
    ToolRejected,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.runner import Call, Emit
from meka.base.text import scrub, scrub_tree

_COUNTERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Reply:
    """Gathers one reply. `shows_reasoning` says whether reasoning is sent to clients at all, and
    `reasoning_is_watched` whether someone is reading it as it comes (which bars a retry)."""

    def __init__(
        self,
        backend: str,
        emit: Emit,
        notify: Callable[[str, str], None],
        summarize: Callable[[Call], str | None],
        shows_reasoning: Callable[[], bool] = lambda: False,
        reasoning_is_watched: Callable[[], bool] = lambda: False,
    ) -> None:
        self.backend = backend
        self._emit = emit
        self._notify = notify
        self._summarize = summarize
        self._shows_reasoning = shows_reasoning
        self._reasoning_is_watched = reasoning_is_watched
        self.accepted = False
        self.published = False
        self.spent = Usage()
        self._reset()

    def _reset(self) -> None:
        self._blocks: list[Block] = []
        self._text: list[str] = []
        self._thinking: list[str] = []
        self.calls: list[Call] = []
        self.usage = Usage()
        self.stop_reason: StopReason | None = None
        self.refusal_text = ""

    def take(self, event: ProviderEvent) -> None:
        """Let one event of the provider in."""
        if isinstance(event, TextDelta):
            self._take_text(event)
        else:
            _TAKE[type(event)](self, event)

    @property
    def content(self) -> tuple[Block, ...]:
        """The whole reply's blocks, in order."""
        self._close_thinking(ThinkingComplete())
        self._close_text()
        return tuple(self._blocks)

    @property
    def partial(self) -> tuple[Block, ...]:
        """What a cut reply leaves: the text that had arrived, without calls and without reasoning."""
        return tuple(block for block in self.content if isinstance(block, Text))

    @property
    def is_silent(self) -> bool:
        """Whether the reply holds neither words nor a call."""
        return not self.calls and not any(isinstance(b, Text) and b.text.strip() for b in self.content)

    def _take_text(self, event: TextDelta) -> None:
        if not event.text:
            return
        if self._thinking:
            self._close_thinking(ThinkingComplete())
        text = scrub(event.text)
        self._text.append(text)
        self.published = True
        self._emit("assistant_text.delta", {"text": text})

    def _take_thinking(self, event: ThinkingDelta) -> None:
        if not event.text:
            return
        self._close_text()
        text = scrub(event.text)
        self._thinking.append(text)
        if self._shows_reasoning():
            self.published = self.published or self._reasoning_is_watched()
            self._emit("thinking.delta", {"text": text})

    def _close_text(self) -> None:
        if self._text:
            self._blocks.append(Text("".join(self._text)))
            self._text = []

    def _close_thinking(self, event: ThinkingComplete) -> None:
        if self._thinking or event.opaque:
            self._close_text()
            self._blocks.append(Thinking("".join(self._thinking), self.backend, event.opaque, event.item_id))
            self._thinking = []

    def _take_redacted(self, event: RedactedThinkingPart) -> None:
        self._close_text()
        self._blocks.append(RedactedThinking(event.data, self.backend))

    def _take_start(self, event: ToolStart) -> None:
        self._close_text()
        self._emit("tool_call.composing", {"id": event.id, "name": event.name})

    def _take_end(self, event: ToolEnd) -> None:
        self._add_call(Call(self._fresh_id(event.id), scrub(event.name), scrub_tree(dict(event.input))))

    def _take_rejected(self, event: ToolRejected) -> None:
        self._add_call(Call(self._fresh_id(event.id), scrub(event.name), {}, scrub(event.reason)))

    def _fresh_id(self, call_id: str) -> str:
        """The call's id; one that this reply has used already is told apart, so that results pair."""
        taken = {call.id for call in self.calls}
        fresh, number = call_id or "call", 2
        while fresh in taken:
            fresh, number = f"{call_id or 'call'}_{number}", number + 1
        return fresh

    def _add_call(self, call: Call) -> None:
        self._close_text()
        self.published = True
        self.calls.append(call)
        self._blocks.append(ToolUse(call.id, call.name, call.input))
        payload: dict[str, Any] = {"id": call.id, "name": call.name, "input": call.input}
        summary = self._summarize(call)
        if summary is not None:
            payload["display_summary"] = summary
        self._emit("tool_call.executing", payload)

    def _take_usage(self, event: UsageReport) -> None:
        merged = {name: getattr(event.usage, name) or getattr(self.usage, name) for name in _COUNTERS}
        self.usage = Usage(**merged)

    def _take_message_end(self, event: MessageEnd) -> None:
        self.stop_reason = event.stop_reason
        self.refusal_text = scrub(event.refusal_text)

    def _take_notice(self, event: ProviderNotice) -> None:
        self._notify(event.level, event.text)

    def _take_accepted(self, _event: Accepted) -> None:
        self.accepted = True

    def _take_failed_attempt(self, _event: AttemptFailed) -> None:
        """What the attempt produced is void; what it spent is not."""
        self.spent = self.spent + self.usage
        self._reset()


_TAKE: Mapping[type, Callable[[Reply, Any], None]] = {
    ThinkingDelta: Reply._take_thinking,
    ThinkingComplete: Reply._close_thinking,
    RedactedThinkingPart: Reply._take_redacted,
    ToolStart: Reply._take_start,
    ToolEnd: Reply._take_end,
    ToolRejected: Reply._take_rejected,
    UsageReport: Reply._take_usage,
    MessageEnd: Reply._take_message_end,
    ProviderNotice: Reply._take_notice,
    Accepted: Reply._take_accepted,
    AttemptFailed: Reply._take_failed_attempt,
}

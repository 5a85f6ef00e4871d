"""The body of an Anthropic Messages request."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from meka.agent.blocks import (
    Block,
    Image,
    RedactedThinking,
    Role,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
)
from meka.agent.providers.anthropic_tools import DEFERRAL_BETA, ToolPlan, references_apart
from meka.agent.providers.base import LoadImage, ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.content import EMPTY, words_of
from meka.agent.providers.images import ImageEncoder, ImageText
from meka.agent.providers.wire import bearer

MAX_IMAGE_SIDE = 2000  # pixels; requests with many images are capped there
SUBSCRIPTION = "claude-subscription"
REDACTED = "redacted"
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
REDACTION_BETA = "redact-thinking-2026-02-12"

_ACCOUNT_DIGITS = 32
_THINKING_KINDS = ("thinking", "redacted_thinking")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")

Json = dict[str, Any]


def build_body(
    request: ModelRequest, settings: ProviderSettings, plan: ToolPlan, writer: "MessageWriter"
) -> Json:
    """The whole body of `request`."""
    thinking = settings.thinking if request.thinking else "off"
    body: Json = {
        "model": settings.model,
        "max_tokens": max_tokens(settings, thinking),
        "messages": writer.messages(request),
        "stream": request.stream,
    }
    if request.system:
        body["system"] = writer.system(request.system)
    if plan.upfront:
        body["tools"] = plan.written(writer.names)
    if thinking != "off":
        body["thinking"] = _thinking(settings)
    if settings.effort:
        body["output_config"] = {"effort": settings.effort}
    if settings.device_id:
        body["metadata"] = {"user_id": user_id(settings, request.session_id)}
    return body


def user_id(settings: ProviderSettings, session_id: str) -> str:
    """Whose request this is. The API wants no names there and a short text: the account's is hashed."""
    account = hashlib.sha256(f"{settings.device_id}:{settings.account}".encode()).hexdigest()[
        :_ACCOUNT_DIGITS
    ]
    who = {"device": settings.device_id, "account": account, "session": session_id}
    return json.dumps(who, separators=(",", ":"))


def _thinking(settings: ProviderSettings) -> Json:
    way: Json = {"type": "adaptive"}
    if settings.thinking == "budgeted":
        way = {"type": "enabled", "budget_tokens": settings.thinking_budget}
    if settings.backend == SUBSCRIPTION and settings.thinking_display != REDACTED:
        way["display"] = settings.thinking_display
    return way


def max_tokens(settings: ProviderSettings, thinking: str) -> int:
    """The cap on the reply, which the API requires; a thinking budget must fit under it."""
    budget = settings.thinking_budget
    defaults = {"adaptive": 128_000, "budgeted": max(2 * budget, 32_000), "off": 32_000}
    cap = settings.max_output_tokens or defaults[thinking]
    return max(cap, budget + 1) if thinking == "budgeted" else cap


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Writes the conversation; `backend` is whose reasoning may be replayed, `expandable` the tools that a
    reference may name."""

    backend: str
    names: ToolNames
    images: ImageEncoder
    expandable: frozenset[str] = frozenset()

    def messages(self, request: ModelRequest) -> list[Json]:
        """The conversation: neighbours of one role joined, so that results follow their calls at once."""
        messages = [
            {"role": role.value, "content": self._content(role, [*_joined(run)], request.load_image)}
            for role, run in groupby(request.messages, key=lambda message: message.role)
        ]
        _strip_trailing_thinking(messages)
        if messages:
            messages[-1]["content"][-1]["cache_control"] = self._cache_control()
        return messages

    def system(self, prompt: str) -> str | list[Json]:
        """The system prompt; a subscription's is kept apart from the messages behind it."""
        if self.backend != SUBSCRIPTION:
            return prompt
        return [_text(prompt) | {"cache_control": self._cache_control()}]

    def _cache_control(self) -> Json:
        lasting = {"ttl": "1h"} if self.backend == SUBSCRIPTION else {}
        return {"type": "ephemeral", **lasting}

    def _content(self, role: Role, blocks: list[Block], load: LoadImage) -> list[Json]:
        ordered = references_apart(blocks, self.expandable) if role is Role.USER else blocks
        content = [item for block in ordered for item in self._items(block, load)]
        return content or [_text(EMPTY)]

    def _items(self, block: Block, load: LoadImage) -> Iterator[Json]:
        match block:
            case Image():
                yield self._image(block, load)
            case Thinking(backend=self.backend) if block.opaque:
                yield {"type": "thinking", "thinking": block.thinking, "signature": block.opaque}
            case RedactedThinking(backend=self.backend):
                yield {"type": "redacted_thinking", "data": block.data}
            case ToolUse():
                name = self.names.to_wire(block.name)
                yield {"type": "tool_use", "id": wire_id(block.id), "name": name, "input": block.input}
            case ToolResult():
                yield self._result(block, load)
            case _:
                words = words_of(block)
                if words is not None:
                    yield _text(words)

    def _image(self, image: Image, load: LoadImage) -> Json:
        encoded = self.images.encode(image, load)
        if isinstance(encoded, ImageText):
            return _text(encoded.text)
        source = {"type": "base64", "media_type": encoded.media_type, "data": encoded.base64}
        return {"type": "image", "source": source}

    def _result(self, result: ToolResult, load: LoadImage) -> Json:
        return {
            "type": "tool_result",
            "tool_use_id": wire_id(result.tool_use_id),
            "is_error": result.is_error,
            "content": [entry for item in result.content for entry in self._result_item(item, load)],
        }

    def _result_item(self, item: Text | Image | ToolReference, load: LoadImage) -> Iterator[Json]:
        match item:
            case Image():
                yield self._image(item, load)
            case ToolReference():
                yield {"type": "tool_reference", "tool_name": self.names.to_wire(item.tool_name)}
            case Text() if item.text:
                yield _text(item.text)


def _joined(run: Iterator[Any]) -> Iterator[Block]:
    for message in run:
        yield from message.content


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _strip_trailing_thinking(messages: list[Json]) -> None:
    """The API refuses an assistant message that ends in reasoning."""
    for message in reversed(messages):
        if message["role"] == Role.ASSISTANT.value:
            content = message["content"]
            while content and content[-1]["type"] in _THINKING_KINDS:
                content.pop()
            if not content:
                content.append(_text(EMPTY))
            return


def wire_id(call_id: str) -> str:
    """A call's id in the characters that the API takes; another backend may have made it."""
    cleaned = _NOT_ID.sub("_", call_id)
    if cleaned == call_id and call_id:
        return call_id
    return f"{cleaned}_{hashlib.sha256(call_id.encode()).hexdigest()[:8]}"


def request_headers(settings: ProviderSettings, *, thinking: bool, defers: bool = False) -> Mapping[str, str]:
    """The headers of one request; a key is in `x-api-key`, a subscription's token is a bearer."""
    headers = {
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "accept": "application/json",
    }
    if settings.api_key:
        is_bearer = settings.backend == SUBSCRIPTION
        headers |= bearer(settings) if is_bearer else {"x-api-key": settings.api_key}
    betas = [*_thinking_betas(settings)] if thinking and settings.thinking != "off" else []
    if defers:
        betas.append(DEFERRAL_BETA)
    if betas:
        headers["anthropic-beta"] = ",".join(betas)
    return headers


def _thinking_betas(settings: ProviderSettings) -> Iterator[str]:
    """What a request that thinks asks for beyond the stable API."""
    if settings.interleaved_thinking:
        yield INTERLEAVED_BETA
    if settings.backend == SUBSCRIPTION and settings.thinking_display == REDACTED:
        yield REDACTION_BETA

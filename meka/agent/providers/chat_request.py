"""The body of a Chat Completions request."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from meka.agent.blocks import Image, Message, Role, ToolResult, ToolUse
from meka.agent.providers.base import LoadImage, ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.content import EMPTY, result_text, words_of
from meka.agent.providers.images import ImageEncoder, ImageText

PARAGRAPH = "\n\n"

Json = dict[str, Any]


def build_body(request: ModelRequest, settings: ProviderSettings, writer: "MessageWriter") -> Json:
    """The whole body of `request`."""
    body: Json = {
        "model": settings.model,
        "messages": writer.messages(request),
        "stream": request.stream,
    }
    if request.stream and settings.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": writer.names.to_wire(tool.name),
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    if settings.effort:
        body["reasoning_effort"] = settings.effort
    if settings.max_output_tokens:
        body["max_completion_tokens"] = settings.max_output_tokens
    if settings.prompt_cache_key:
        body["prompt_cache_key"] = request.session_id
    return body


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Writes the conversation; reasoning is never sent back."""

    names: ToolNames
    images: ImageEncoder

    def messages(self, request: ModelRequest) -> list[Json]:
        """The system prompt and the conversation."""
        messages: list[Json] = [{"role": "system", "content": request.system}] if request.system else []
        for message in request.messages:
            if message.role is Role.ASSISTANT:
                messages.append(self._assistant(message))
            else:
                messages.extend(self._user(message, request.load_image))
        return messages

    def _assistant(self, message: Message) -> Json:
        words = PARAGRAPH.join(filter(None, map(words_of, message.content)))
        written: Json = {"role": "assistant"}
        calls = [self._call(call) for call in message.calls]
        if words or not calls:
            written["content"] = words or EMPTY
        if calls:
            written["tool_calls"] = calls
        return written

    def _call(self, call: ToolUse) -> Json:
        function = {
            "name": self.names.to_wire(call.name),
            "arguments": json.dumps(call.input, ensure_ascii=False),
        }
        return {"id": call.id, "type": "function", "function": function}

    def _user(self, message: Message, load: LoadImage) -> Iterator[Json]:
        """The tool results, a message each, then one message of everything else."""
        results = [block for block in message.content if isinstance(block, ToolResult)]
        for result in results:
            yield {"role": "tool", "tool_call_id": result.tool_use_id, "content": result_text(result)}
        content = self._user_content(message, load)
        if content or not results:
            yield {"role": "user", "content": content or EMPTY}

    def _user_content(self, message: Message, load: LoadImage) -> str | list[Json]:
        words: list[str] = []
        images: list[Json] = []
        for block in message.content:
            if isinstance(block, Image):
                encoded = self.images.encode(block, load)
                if isinstance(encoded, ImageText):
                    words.append(encoded.text)
                else:
                    images.append({"type": "image_url", "image_url": {"url": encoded.data_url}})
            else:
                words.append(words_of(block) or "")
        text = PARAGRAPH.join(filter(None, words))
        if not images:
            return text
        return [*([{"type": "text", "text": text}] if text else []), *images]

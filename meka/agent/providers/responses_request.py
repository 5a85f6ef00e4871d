"""The body of a Responses request: the whole conversation as input items, every time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from meka.agent.blocks import (
    Block,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
)
from meka.agent.providers.base import LoadImage, ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.content import EMPTY, reference_text, result_text, words_of
from meka.agent.providers.images import ImageEncoder, ImageText

Json = dict[str, Any]


def build_body(request: ModelRequest, settings: ProviderSettings, writer: "ItemWriter") -> Json:
    """The whole body of `request`."""
    body: Json = {
        "model": settings.model,
        "input": writer.items(request),
        "store": False,
        "stream": True,
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body |= {
            "tools": _tools(request, writer.names),
            "tool_choice": "auto",
            "parallel_tool_calls": False,
        }
    if settings.effort:
        body["reasoning"] = {"effort": settings.effort}
    if settings.max_output_tokens:
        body["max_output_tokens"] = settings.max_output_tokens
    if settings.prompt_cache_key:
        body["prompt_cache_key"] = request.session_id
    return body


def _tools(request: ModelRequest, names: ToolNames) -> list[Json]:
    return [
        {
            "type": "function",
            "name": names.to_wire(tool.name),
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in request.tools
    ]


@dataclass(frozen=True, slots=True)
class ItemWriter:
    """Writes the conversation.

    `replays_reasoning`: whether the endpoint takes its sealed reasoning back; `backend` is whose it is then.
    """

    backend: str
    names: ToolNames
    images: ImageEncoder
    replays_reasoning: bool = False

    def items(self, request: ModelRequest) -> list[Json]:
        """The conversation as input items."""
        items: list[Json] = []
        for message in request.messages:
            if message.role is Role.ASSISTANT:
                items.extend(self._assistant(message.content))
            else:
                items.extend(self._user(message, request.load_image))
        return items

    def _assistant(self, content: Sequence[Block]) -> list[Json]:
        """Texts, calls and reasoning in order; reasoning that nothing follows is left out."""
        items: list[Json] = []
        for block in content:
            item = self._assistant_item(block)
            if item is not None:
                items.append(item)
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        return items or [_message("assistant", [{"type": "output_text", "text": EMPTY}])]

    def _assistant_item(self, block: Block) -> Json | None:
        if isinstance(block, ToolUse):
            return self._call(block)
        if isinstance(block, Thinking):
            return self._reasoning(block)
        words = words_of(block)
        return None if words is None else _message("assistant", [{"type": "output_text", "text": words}])

    def _call(self, call: ToolUse) -> Json:
        return {
            "type": "function_call",
            "call_id": call.id,
            "name": self.names.to_wire(call.name),
            "arguments": json.dumps(call.input, ensure_ascii=False),
        }

    def _reasoning(self, block: Thinking) -> Json | None:
        if not (self.replays_reasoning and block.backend == self.backend and block.opaque):
            return None
        summary = [{"type": "summary_text", "text": block.thinking}] if block.thinking else []
        item: Json = {"type": "reasoning", "summary": summary, "encrypted_content": block.opaque}
        return item | ({"id": block.item_id} if block.item_id else {})

    def _user(self, message: Message, load: LoadImage) -> Iterator[Json]:
        """The outputs of calls, then one message: its texts, then its images."""
        results = [block for block in message.content if isinstance(block, ToolResult)]
        for result in results:
            output = self._output(result, load)
            yield {"type": "function_call_output", "call_id": result.tool_use_id, "output": output}
        parts = self._user_parts(message.content, load)
        if parts or not results:
            yield _message("user", parts or [_input_text(EMPTY)])

    def _user_parts(self, content: Sequence[Block], load: LoadImage) -> list[Json]:
        texts = [_input_text(words) for words in map(words_of, content) if words is not None]
        images = [self._image(block, load) for block in content if isinstance(block, Image)]
        return texts + images

    def _output(self, result: ToolResult, load: LoadImage) -> str | list[Json]:
        if not any(isinstance(item, Image) for item in result.content):
            return result_text(result)
        return [self._output_part(item, load) for item in result.content]

    def _output_part(self, item: Text | Image | ToolReference, load: LoadImage) -> Json:
        if isinstance(item, Image):
            return self._image(item, load)
        return _input_text(item.text if isinstance(item, Text) else reference_text(item))

    def _image(self, image: Image, load: LoadImage) -> Json:
        encoded = self.images.encode(image, load)
        if isinstance(encoded, ImageText):
            return _input_text(encoded.text)
        return {"type": "input_image", "image_url": encoded.data_url, "detail": "auto"}


def _message(role: str, content: list[Json]) -> Json:
    return {"type": "message", "role": role, "content": content}


def _input_text(text: str) -> Json:
    return {"type": "input_text", "text": text}

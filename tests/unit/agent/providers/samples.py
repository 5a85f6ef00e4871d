"""Requests, conversations and settings that the providers' tests share."""

from collections.abc import Sequence
from typing import Any

from meka.agent.blocks import Block, Message, Role, Text
from meka.agent.providers.base import ModelRequest, ProviderSettings, ToolSchema

READ_FILE = ToolSchema("read_file", "Read a file.", {"type": "object", "properties": {}})
PIXELS = b"not really an image"


def user(*blocks: Block | str) -> Message:
    return Message(Role.USER, _blocks(blocks))


def assistant(*blocks: Block | str) -> Message:
    return Message(Role.ASSISTANT, _blocks(blocks))


def _blocks(blocks: Sequence[Block | str]) -> tuple[Block, ...]:
    return tuple(Text(block) if isinstance(block, str) else block for block in blocks)


def a_request(*messages: Message, **changes: Any) -> ModelRequest:
    values: dict[str, Any] = {
        "session_id": "session-1",
        "system": "",
        "messages": messages or (user("hello"),),
        "tools": (),
        "load_image": lambda image_hash: PIXELS if image_hash == "known" else None,
    }
    return ModelRequest(**values | changes)


def some_settings(backend: str, **changes: Any) -> ProviderSettings:
    values: dict[str, Any] = {
        "backend": backend,
        "base_url": "",
        "api_key": "the-key",
        "model": "model-1",
        "account": "work",
    }
    return ProviderSettings(**values | changes)


class CountingIds:
    """Ids 1, 2, 3."""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> str:
        self._last += 1
        return str(self._last)

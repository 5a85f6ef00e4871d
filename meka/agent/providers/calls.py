"""A model's tool calls: their arguments as text, and their names on the wire."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from meka.agent.blocks import ToolUse
from meka.agent.providers.base import ModelRequest, ToolEnd, ToolRejected
from meka.base.text import scrub_tree

MAX_DEPTH = 64
_HASH_LENGTH = 8
_WIRE_NAME = re.compile(r"[A-Za-z0-9_-]+")
_NOT_WIRE = re.compile(r"[^A-Za-z0-9_-]")


class ToolNames:
    """Names of tools as an endpoint takes them, and back.

    A name that is too long or holds other characters is cut and given a hash of the whole, so that it is the
    same in every request and no two tools share one.
    """

    def __init__(self, limit_bytes: int, names: Iterable[str] = ()) -> None:
        self._limit = limit_bytes
        self._originals: dict[str, str] = {}
        for name in names:
            self.to_wire(name)

    def to_wire(self, name: str) -> str:
        """The name that the endpoint is told."""
        wire = name
        if len(name) > self._limit or not _WIRE_NAME.fullmatch(name):
            digest = hashlib.sha256(name.encode()).hexdigest()[: min(_HASH_LENGTH, self._limit)]
            head = _NOT_WIRE.sub("_", name)[: max(0, self._limit - len(digest) - 1)]
            wire = f"{head}_{digest}" if head else digest
        self._originals[wire] = name
        return wire

    def from_wire(self, wire: str) -> str:
        """The tool's own name; a name that nobody told the endpoint stays as it is."""
        return self._originals.get(wire, wire)


def names_for(request: ModelRequest, limit_bytes: int) -> ToolNames:
    """The names of every tool that `request` offers or remembers."""
    called = (
        block.name for message in request.messages for block in message.content if isinstance(block, ToolUse)
    )
    offered = (tool.name for tool in (*request.tools, *request.deferred_tools))
    return ToolNames(limit_bytes, (*called, *offered))


def finished_call(call_id: str, name: str, arguments: object) -> ToolEnd | ToolRejected:
    """The call whose `arguments` are all there: JSON text as the model wrote it, or the object itself."""
    try:
        return ToolEnd(call_id, name, read_arguments(arguments))
    except (ValueError, RecursionError):
        return ToolRejected(call_id, name, "the arguments are not a valid JSON object")


def read_arguments(arguments: object) -> Mapping[str, Any]:
    """The object that `arguments` hold; empty text is `{}`. Raises: ValueError, RecursionError."""
    value: object = arguments
    if isinstance(arguments, str):
        text = arguments.strip()
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite) if text else {}
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 (the text is at fault, not a type of ours)
    if _depth_exceeds(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    cleaned: dict[str, Any] = scrub_tree(value)
    return cleaned


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number out of range")
    return value


def _depth_exceeds(value: object, limit: int) -> bool:
    if isinstance(value, dict):
        items: Iterable[object] = value.values()
    elif isinstance(value, list):
        items = value
    else:
        return False
    return limit == 0 or any(_depth_exceeds(item, limit - 1) for item in items)

"""Tools of an Anthropic Messages request, and those of them that wait until a result refers to them.

The API refuses a request whose tools all wait, and a reference to a tool that it is not told of. Whether it
takes references beside other items in one result is not known here, so they stand there alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from meka.agent.blocks import Block, Image, Message, Text, ToolReference, ToolResult
from meka.agent.providers.base import ModelRequest, ToolSchema
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.content import reference_text

DEFERRAL_BETA = "advanced-tool-use-2025-11-20"

Json = dict[str, Any]
Item = Text | Image | ToolReference


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """`upfront` are before the model from the start, `waiting` once it reads a reference to them."""

    upfront: Sequence[ToolSchema]
    waiting: Sequence[ToolSchema] = ()

    @property
    def expandable(self) -> frozenset[str]:
        """The tools that a reference may name."""
        return frozenset(tool.name for tool in self.waiting)

    def written(self, names: ToolNames) -> list[Json]:
        """The request's tools."""
        return [
            *(_written(tool, names) for tool in self.upfront),
            *(_written(tool, names) | {"defer_loading": True} for tool in self.waiting),
        ]


def plan_tools(request: ModelRequest, *, expands_references: bool) -> ToolPlan:
    """Which tools wait. One that is loaded and that no result refers to any more (a compaction took it) does
    not; and none does where nothing else is there."""
    deferred = {tool.name: tool for tool in request.deferred_tools} if expands_references else {}
    referred = {name for message in request.messages for name in _references(message)}
    upfront = [tool for tool in request.tools if tool.name not in deferred or tool.name not in referred]
    if not upfront or not deferred:
        return ToolPlan(request.tools)
    shown = {tool.name for tool in upfront}
    return ToolPlan(upfront, [tool for name, tool in deferred.items() if name not in shown])


def _references(message: Message) -> Iterator[str]:
    for block in message.content:
        if isinstance(block, ToolResult):
            yield from (item.tool_name for item in block.content if isinstance(item, ToolReference))


def references_apart(blocks: Iterable[Block], expandable: frozenset[str]) -> list[Block]:
    """A user message's blocks as the API wants them: results first, then what they held beside references."""
    results: list[Block] = []
    beside: list[Block] = []
    others: list[Block] = []
    for block in blocks:
        if not isinstance(block, ToolResult):
            others.append(block)
            continue
        items = [_expandable_or_text(item, expandable) for item in block.content]
        references = [item for item in items if isinstance(item, ToolReference)]
        if references:
            beside += [item for item in items if not isinstance(item, ToolReference)]
        results.append(ToolResult(block.tool_use_id, block.is_error, tuple(references or items)))
    return [*results, *beside, *others]


def _expandable_or_text(item: Item, expandable: frozenset[str]) -> Item:
    if isinstance(item, ToolReference) and item.tool_name not in expandable:
        return Text(reference_text(item))
    return item


def _written(tool: ToolSchema, names: ToolNames) -> Json:
    return {
        "name": names.to_wire(tool.name),
        "description": tool.description,
        "input_schema": tool.parameters,
    }

"""A tool that is one function: its face for the model, its level, and what to call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meka.agent.tools.base import ToolContext, ToolOutcome
from meka.base.levels import Level


@dataclass(slots=True)
class FunctionTool:
    """A `Tool` made of `function`."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[[Mapping[str, Any], ToolContext], ToolOutcome]
    summary_argument: str | None = None
    level: Level = Level.READ
    takes_scratchpad: bool = False
    deferred: bool = False
    serial: bool = False

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Run one call. Raises: ToolError."""
        return self.function(arguments, context)


def object_schema(required: Sequence[str] = (), **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of a tool's arguments."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | {"required": list(required)} if required else schema

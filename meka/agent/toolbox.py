"""The tools of one session: what the model is sent of them, and what each call is held to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema

from meka.agent.blocks import Message, ToolReference, ToolResult
from meka.agent.checklist import TOOLS as CHECKLIST_TOOLS
from meka.agent.providers.base import ToolSchema
from meka.agent.tools.base import Tool
from meka.base.levels import Level
from meka.base.text import one_line

SCRATCHPAD_PARAMETER: Mapping[str, Any] = {
    "type": "string",
    "description": "Keep the whole result in the scratchpad under this name instead of returning it.",
}

BACKGROUND_PARAMETER: Mapping[str, Any] = {
    "type": "boolean",
    "description": "Let the call go on in the background: it returns a task id at once, and its outcome is "
    "reported when it has ended.",
}
_NEVER_BACKGROUND = ("context_compact", *CHECKLIST_TOOLS)


@dataclass(frozen=True, slots=True)
class Fault:
    """Arguments that a tool cannot run with; `sentence` names the parameter."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checked arguments: the tool's own, the universal ones, and the names nobody declared."""

    own: Mapping[str, Any]
    scratchpad: str | None
    undeclared: tuple[str, ...]
    background: bool = False


class Toolbox:
    """The registered tools by name, with the level each requires here."""

    def __init__(
        self,
        tools: Iterable[Tool],
        overrides: Mapping[str, Level] | None = None,
        *,
        background: bool = False,
    ) -> None:
        self._background = background
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        given = overrides or {}
        self.levels: dict[str, Level] = {
            name: given.get(name, tool.level) for name, tool in self.tools.items()
        }
        self._validators = {
            name: jsonschema.Draft202012Validator(_without_additional(tool.parameters))
            for name, tool in self.tools.items()
        }

    def get(self, name: str) -> Tool | None:
        """The tool of that name, if there is one."""
        return self.tools.get(name)

    def active(self, loaded: Sequence[str]) -> list[Tool]:
        """The tools whose schemas a request carries: those never deferred first, then the loaded ones."""
        direct = [tool for tool in self.tools.values() if not tool.deferred]
        return direct + [
            self.tools[name] for name in loaded if name in self.tools and self.tools[name].deferred
        ]

    def is_active(self, name: str, loaded: Sequence[str]) -> bool:
        """Whether the model has the schema of that tool already."""
        return any(tool.name == name for tool in self.active(loaded))

    def schemas(self, loaded: Sequence[str]) -> list[ToolSchema]:
        """The active tools as a model is told of them."""
        return [schema_of(tool, self._detaches(tool)) for tool in self.active(loaded)]

    def deferred_schemas(self) -> list[ToolSchema]:
        """Every tool that waits or waited to be loaded."""
        return [schema_of(tool, self._detaches(tool)) for tool in self.tools.values() if tool.deferred]

    def _detaches(self, tool: Tool) -> bool:
        """Whether the tool takes the universal `background`: it has others, none of that name, and may."""
        properties = tool.parameters.get("properties", {})
        return (
            self._background
            and bool(properties)
            and "background" not in properties
            and tool.name not in _NEVER_BACKGROUND
        )

    def check(self, tool: Tool, given: Mapping[str, Any]) -> Arguments | Fault:
        """Sort and validate the arguments of one call; null counts as absent on an optional parameter."""
        properties = tool.parameters.get("properties", {})
        required = tool.parameters.get("required", ())
        values = {name: value for name, value in given.items() if value is not None or name in required}
        scratchpad = values.pop("scratchpad", None) if "scratchpad" not in properties else None
        if scratchpad is not None and (not isinstance(scratchpad, str) or not scratchpad):
            return Fault("the parameter 'scratchpad' takes a non-empty string")
        background = values.pop("background", False) if self._detaches(tool) else False
        if not isinstance(background, bool):
            return Fault("the parameter 'background' takes true or false")
        own = {name: value for name, value in values.items() if name in properties}
        error = jsonschema.exceptions.best_match(self._validators[tool.name].iter_errors(own))
        if error is not None:
            where = error.json_path.removeprefix("$").removeprefix(".")
            return Fault(f"invalid arguments{f' at {where}' if where else ''}: {error.message}")
        return Arguments(
            own, scratchpad, tuple(name for name in values if name not in properties), background
        )


def schema_of(tool: Tool, detaches: bool = False) -> ToolSchema:
    """The schema a model is sent, the universal parameters that the tool advertises spliced in."""
    parameters = dict(tool.parameters)
    if tool.takes_scratchpad and "scratchpad" not in parameters.get("properties", {}):
        parameters["properties"] = {**parameters.get("properties", {}), "scratchpad": SCRATCHPAD_PARAMETER}
    if detaches:
        parameters["properties"] = {**parameters["properties"], "background": BACKGROUND_PARAMETER}
    return ToolSchema(tool.name, tool.description, parameters)


def display_summary(tool: Tool | None, arguments: Mapping[str, Any]) -> str | None:
    """The call's primary argument as one line; None when the tool has no label or the call no such one."""
    if tool is None or tool.summary_argument is None:
        return None
    value = arguments.get(tool.summary_argument)
    if value is None and tool.name == "image_render" and "base64" in arguments:
        return "<inline base64>"
    if isinstance(value, list):
        value = ", ".join(_item_text(item) for item in value)
    if value is None or isinstance(value, dict | bool):
        return None
    return one_line(str(value)) or None


def _item_text(item: object) -> str:
    return str(item.get("text", "")) if isinstance(item, dict) else str(item)


def _without_additional(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without its top-level ban on further properties: those are advised of, never refused."""
    return {key: value for key, value in parameters.items() if key != "additionalProperties"}


def loaded_tools(messages: Iterable[Message]) -> tuple[str, ...]:
    """The deferred tools that a conversation made callable: those that its successful `tool_load` calls name
    and its results refer to."""
    asked: dict[str, list[str]] = {}
    loaded: dict[str, None] = {}
    for message in messages:
        for call in message.calls:
            if call.name == "tool_load":
                named = call.input.get("name", ())
                asked[call.id] = [named] if isinstance(named, str) else [str(name) for name in named]
        for block in message.content:
            if isinstance(block, ToolResult) and not block.is_error:
                loaded |= dict.fromkeys(asked.pop(block.tool_use_id, ()))
                loaded |= {item.tool_name: None for item in block.content if isinstance(item, ToolReference)}
    return tuple(loaded)

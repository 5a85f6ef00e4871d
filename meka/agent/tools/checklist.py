"""`checklist_add`, `checklist_edit` and `checklist_read`: the agent's list of what it has committed to."""

from collections.abc import Mapping
from typing import Any

from meka.agent import checklist
from meka.agent.checklist import Checklist, Item, RefusedError, read_edit, render, status_of
from meka.agent.tools.base import Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema

_STATUSES = ("pending", "in_progress", "deferred", "completed", "canceled")
_ITEM = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "status": {"type": "string", "description": "pending (the default) or in_progress"},
            },
            "required": ["text"],
        },
    ]
}


def checklist_tools() -> tuple[Tool, ...]:
    """The three tools."""
    return (
        FunctionTool(
            name="checklist_add",
            description=(
                "Add what you commit to doing to your checklist. The turn cannot end while an item is "
                "pending or in progress. Returns the ids and the whole list."
            ),
            parameters=object_schema(
                required=("items",), items={"type": "array", "items": _ITEM, "minItems": 1}
            ),
            function=add_items,
            summary_argument="items",
            takes_scratchpad=True,
            serial=True,
        ),
        FunctionTool(
            name="checklist_edit",
            description=(
                "Change one item of your checklist by id: its status, its reason, the background task a "
                "deferred item waits on, or its text. Defer only what cannot proceed now because it waits on "
                "a person, an event or an explicit later, never because it is hard or tedious. Canceling and "
                "deferring need a reason. A call with anything wrong in it changes nothing."
            ),
            parameters=object_schema(
                required=("id",),
                id={"type": "integer"},
                status={"type": "string", "description": ", ".join(_STATUSES)},
                reason={"type": "string", "description": "why it is canceled, or what it waits on"},
                task={"type": "string", "description": "the background task a deferred item waits on"},
                text={"type": "string"},
            ),
            function=edit_item,
            summary_argument="id",
            takes_scratchpad=True,
            serial=True,
        ),
        FunctionTool(
            name="checklist_read",
            description="Read your checklist.",
            parameters=object_schema(),
            function=read_items,
            takes_scratchpad=True,
            serial=True,
        ),
    )


def add_items(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Append items. Raises: ToolError, and nothing is added."""
    try:
        changed, added = checklist.add(context.checklist.current(), arguments["items"])
    except RefusedError as error:
        raise ToolError(str(error)) from None
    context.checklist.note(changed)
    ids = ", ".join(str(item.id) for item in added)
    return _answer(f"Added {ids}.", changed)


def edit_item(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Change one item. Raises: ToolError, and nothing is changed."""
    asked = read_edit(arguments)
    try:
        changed, item = checklist.edit(context.checklist.current(), asked, context.checklist.tasks)
    except RefusedError as error:
        raise ToolError(str(error)) from None
    context.checklist.note(changed)
    return _answer(_what_became(asked.id, asked.status, item), changed)


def read_items(_arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """The list."""
    return ToolOutcome(render(context.checklist.current()))


def _what_became(item_id: int, status: str | None, item: Item | None) -> str:
    if item is None:
        return f"Item {item_id} is {status_of(status or '')} and off the list."
    return f"Item {item_id} is {item.status.value}."


def _answer(line: str, current: Checklist) -> ToolOutcome:
    return ToolOutcome(f"{line}\n\n{render(current)}")

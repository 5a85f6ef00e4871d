"""`task_list` and `task_cancel`: the session's background tasks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from meka.agent.tools.base import Tool, ToolContext, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.base.text import one_line

_WHAT_CHARS = 48
_COLUMNS = ("ID", "Status", "Tool", "What", "Elapsed", "Result")


def task_tools() -> tuple[Tool, ...]:
    """The two tools."""
    return (
        FunctionTool(
            name="task_list",
            description="List this session's background tasks, newest first.",
            parameters=object_schema(),
            function=list_tasks,
        ),
        FunctionTool(
            name="task_cancel",
            description="Cancel a running background task by its id (a unique prefix will do), or all.",
            parameters=object_schema(
                required=("id",), id={"type": "string", "description": "an id, its prefix, or all"}
            ),
            function=cancel_task,
            summary_argument="id",
        ),
    )


def list_tasks(_arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """The tasks as a table."""
    now = context.clock.now()
    rows = [_row(task, now) for task in context.tasks.table()]
    if not rows:
        return ToolOutcome("This session has no background tasks.")
    return ToolOutcome("\n".join("\t".join(row) for row in (_COLUMNS, *rows)))


def cancel_task(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Cancel one task or all. Raises: ToolError."""
    named = context.tasks.cancel(arguments["id"])
    if not named:
        return ToolOutcome("No background task is running.")
    return ToolOutcome("Canceled " + ", ".join(task_id[:8] for task_id in named) + ".")


def _row(task: Mapping[str, Any], now: datetime) -> tuple[str, ...]:
    entry, outcome = task.get("scratchpad_entry"), task.get("outcome")
    result = one_line(entry) if entry else one_line(str(outcome or ""))[:_WHAT_CHARS]
    label = str(task["label"])[:_WHAT_CHARS]
    return (task["id"][:8], task["status"], task["tool"], label, _elapsed(task, now), result)


def _elapsed(task: Mapping[str, Any], now: datetime) -> str:
    until = datetime.fromisoformat(task["finished_at"]) if "finished_at" in task else now
    return f"{(until - datetime.fromisoformat(task['started_at'])).total_seconds():.0f} s"

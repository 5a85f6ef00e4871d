"""`context_check` and `context_compact`, and `context_replace`, which only a checkpoint has."""

from collections.abc import Mapping
from typing import Any

from meka.agent.tools.base import Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema


def window_tools() -> tuple[Tool, ...]:
    """The two that a turn has."""
    return (
        FunctionTool(
            name="context_check",
            description="See how full your context window is, and how much a compaction keeps word for word.",
            parameters=object_schema(),
            function=check,
        ),
        FunctionTool(
            name="context_compact",
            description=(
                "Have this conversation replaced by a summary once this round of calls is over; at most once "
                "a turn. Use it when a piece of work is done and its details are no longer needed."
            ),
            parameters=object_schema(
                instructions={"type": "string", "description": "What the summary is to keep or to drop."},
                keep_recent={
                    "type": "boolean",
                    "default": True,
                    "description": "Keep the most recent messages word for word.",
                },
            ),
            function=compact,
        ),
    )


def checkpoint_tool() -> Tool:
    """The one that ends a checkpoint."""
    return FunctionTool(
        name="context_replace",
        description="Hand over the summary that takes the place of the conversation.",
        parameters=object_schema(
            ["summary"],
            summary={"type": "string", "description": "The whole summary."},
            keep_recent={"type": "boolean", "description": "Keep the most recent messages word for word."},
        ),
        function=replace,
        serial=True,
    )


def check(_arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """The window in a few lines. Units: tokens."""
    report = context.window.report()
    percent = round(100 * report.used / report.window)
    conversation = max(0, report.used - report.overhead)
    return ToolOutcome(
        "\n".join((
            f"Used: {report.used} of {report.window} tokens ({percent}%)",
            f"Headroom below the ceiling: {max(0, report.ceiling - report.used)} tokens",
            f"Kept word for word by a compaction: up to {report.verbatim} tokens",
            f"Fixed overhead: {report.overhead} tokens",
            f"Conversation: {conversation} tokens",
            f"Compactions so far: {report.generation}",
        ))
    )  # fmt: skip


def compact(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Note the wish. Raises: ToolError the second time in a turn."""
    context.window.ask_to_compact(arguments.get("instructions") or None, arguments.get("keep_recent"))
    return ToolOutcome("The conversation is compacted after this round of calls.")


def replace(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Take the summary. Raises: ToolError for a blank one."""
    summary = arguments["summary"]
    if not summary.strip():
        raise ToolError("the summary is blank")
    context.window.hand_over(summary, arguments.get("keep_recent"))
    return ToolOutcome("The summary is accepted; the conversation is replaced by it.")

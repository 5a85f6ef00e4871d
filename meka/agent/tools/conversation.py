"""`conversation_search` and `conversation_read`: the whole log, its compacted-away part included."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from meka.agent.blocks import (
    Block,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
)
from meka.agent.tools.base import Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.agent.tools.patterns import compile_pattern

DEFAULT_HITS = 20
MOST_HITS = 100
MOST_MESSAGES = 20
ROW_CHARACTERS = 200


def conversation_tools() -> tuple[Tool, ...]:
    """The two tools that look back."""
    search = FunctionTool(
        name="conversation_search",
        description="Search this conversation's whole log, parts that were compacted away included. Returns "
        "matching lines with the number of their message.",
        parameters=object_schema(
            ["query"],
            query={"type": "string", "description": "Text to find, in any case; or a regular expression."},
            is_regex={
                "type": "boolean",
                "default": False,
                "description": "Case-sensitive regular expression.",
            },
            limit={"type": "integer", "minimum": 1, "maximum": MOST_HITS, "default": DEFAULT_HITS},
        ),
        function=search_conversation,
        summary_argument="query",
    )
    read = FunctionTool(
        name="conversation_read",
        description="Read messages of this conversation's whole log in full, by number.",
        parameters=object_schema(
            ["start"],
            start={"type": "integer", "minimum": 1, "description": "Number of the first message."},
            limit={"type": "integer", "minimum": 1, "maximum": MOST_MESSAGES, "default": 1},
        ),
        function=read_conversation,
        summary_argument="start",
        takes_scratchpad=True,
    )
    return search, read


def search_conversation(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Rows `#N [role] line` for the lines that match. Raises: ToolError for a bad pattern."""
    matches = _matcher(arguments["query"], arguments.get("is_regex", False))
    limit = min(arguments.get("limit", DEFAULT_HITS), MOST_HITS)
    messages = context.conversation.messages()
    text: str = context.run_blocking(_search, messages, matches, limit)
    return ToolOutcome(text)


def read_conversation(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Messages in full under a heading that says which. Raises: ToolError when there are none there."""
    messages = context.conversation.messages()
    start, total = arguments["start"], len(messages)
    if start > total:
        raise ToolError(f"there is no message #{start}; the conversation has {total}")
    end = min(total, start - 1 + min(arguments.get("limit", 1), MOST_MESSAGES))
    heading = f"Messages #{start}..#{end} of {total}"
    shown = [
        f"#{number} [{message.role}]\n{render_message(message)}"
        for number, message in enumerate(messages[start - 1 : end], start)
    ]
    return ToolOutcome("\n\n".join([heading, *shown]))


def render_message(message: Message) -> str:
    """A message as text: words, calls with their arguments, results; reasoning is left out."""
    return "\n".join(filter(None, map(_render_block, message.content)))


def _matcher(query: str, is_regex: bool) -> Callable[[str], bool]:
    if is_regex:
        return compile_pattern(query).matches_line
    wanted = query.casefold()
    return lambda line: wanted in line.casefold()


def _search(messages: Sequence[Message], matches: Callable[[str], bool], limit: int) -> str:
    rows: list[str] = []
    found = 0
    for number, message in enumerate(messages, 1):
        for line in render_message(message).splitlines():
            if matches(line):
                found += 1
                if found <= limit:
                    rows.append(f"#{number} [{message.role}] {_cut(line)}")
    if not found:
        return f"No line matches in {len(messages)} messages."
    counted = f"{found} matching lines" if found <= limit else f"the first {limit} of {found} matching lines"
    rows += ["", f"({counted} in {len(messages)} messages; conversation_read shows a message in full)"]
    return "\n".join(rows)


def _cut(line: str) -> str:
    return line if len(line) <= ROW_CHARACTERS else line[: ROW_CHARACTERS - 3] + "..."


def _render_block(block: Block) -> str:
    match block:
        case Thinking() | RedactedThinking():
            return ""
        case ToolUse():
            return f"[call of {block.name}] {json.dumps(block.input, ensure_ascii=False)}"
        case ToolResult():
            shown = "\n".join(map(_render_item, block.content))
            return f"[{'failed result' if block.is_error else 'result'}]\n{shown}"
        case Image() | ToolReference():
            return _render_item(block)
        case _:
            return block.text


def _render_item(item: Text | Image | ToolReference) -> str:
    match item:
        case Text():
            return item.text
        case Image():
            return f"[image: {item.media_type}]"
        case ToolReference():
            return f"[tool: {item.tool_name}]"

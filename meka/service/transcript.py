"""A conversation as Markdown for a reader: everything that was said, what was compacted away included."""

import json
import re
from collections.abc import Iterator, Sequence

from meka.agent.blocks import (
    BackgroundReport,
    Block,
    Image,
    Inbox,
    Invocation,
    Message,
    Nudge,
    RedactedThinking,
    Resource,
    Role,
    Scheduled,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    TurnContext,
)
from meka.agent.conversation import message_of
from meka.base.clock import rfc3339
from meka.base.text import one_line
from meka.store import messages
from meka.store.messages import LogRow
from meka.store.sessions import SessionRow

_BACKTICKS = re.compile(r"`+")


def write_transcript(row: SessionRow, log: Sequence[LogRow]) -> str:
    """The whole document."""
    parts = [_head(row)]
    for each in messages.said(log):
        sections = [section for block in message_of(each).content if (section := _section(block))]
        if sections:
            parts += [_heading(each, message_of(each)), *sections]
    return "\n\n".join(parts) + "\n"


def _head(row: SessionRow) -> str:
    title = one_line(row.title or row.first_words or "Untitled session")
    facts = [f"Session `{row.id}`", f"created {rfc3339(row.created_at)}", f"profile `{row.profile}`"]
    if row.working_directory:
        facts.append(f"in {_code(row.working_directory)}")
    return f"# {title}\n\n{', '.join(facts)}"


def _heading(row: LogRow, message: Message) -> str:
    if "compaction" in (row.meta or {}):
        who = "Summary of what came before"
    elif message.role is Role.ASSISTANT:
        who = "Assistant"
    else:
        is_result = any(isinstance(block, ToolResult) for block in message.content)
        who = "Tool results" if is_result else "User"
    return f"## {who} ({rfc3339(row.created_at)})"


def _section(block: Block) -> str:
    """One block; empty for what meka tells the model and a reader need not see."""
    match block:
        case TurnContext() | RedactedThinking():
            return ""
        case Text(text) | Nudge(_, text) | Inbox(text) | Scheduled(text) | BackgroundReport(text):
            return text.strip("\n")
        case Invocation():
            return f"Invoked {_code(block.name)}: {block.directive}".rstrip(": ")
        case Resource():
            return f"Attached {_code(block.name)} ({block.uri}):\n\n{_fence(block.text)}"
        case Image():
            return f"[image: {block.media_type}, `{block.hash}`]"
        case Thinking():
            return "\n".join(f"> {line}".rstrip() for line in block.thinking.splitlines())
        case ToolUse():
            given = json.dumps(block.input, ensure_ascii=False, indent=2)
            return f"Called {_code(block.name)}:\n\n{_fence(given, 'json')}"
        case ToolReference():
            return f"Loaded {_code(block.tool_name)}"
        case ToolResult():
            return "\n\n".join(_result(block))


def _result(block: ToolResult) -> Iterator[str]:
    yield f"Result of {_code(block.tool_use_id)}{' (an error)' if block.is_error else ''}:"
    for item in block.content:
        yield _fence(item.text) if isinstance(item, Text) else _section(item)


def _fence(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """A span of code, on one line."""
    plain = one_line(text)
    longest = max(map(len, _BACKTICKS.findall(plain)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{plain}{pad}{fence}"

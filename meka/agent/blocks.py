"""Messages and their content blocks, as the conversation keeps them and a provider is sent them.

A block's record (its stored JSON) is its fields under `type`. Fields that a client never sees (a thinking
block's signature, say) are left out by the one rendering in `meka.service.views`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar


class Role(StrEnum):
    """Who a message is from, as the model sees it; tool results come from the user's side."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Text:
    """A person's words, or the model's."""

    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What meka tells the model ahead of the words of a turn."""

    type: ClassVar[str] = "turn_context"
    text: str


@dataclass(frozen=True, slots=True)
class Nudge:
    """meka's "keep going"; `kind` is `visible_reply` or `checklist`."""

    type: ClassVar[str] = "nudge"
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Inbox:
    """A message that reached the model through the inbox: `text` is header and body, `body` the words."""

    type: ClassVar[str] = "inbox"
    text: str
    body: str
    item_id: str | None = None
    class_: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A job's fire: `text` is what the model read, `prompt` the job's words."""

    type: ClassVar[str] = "scheduled"
    text: str
    job_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class BackgroundReport:
    """Outcomes of background tasks."""

    type: ClassVar[str] = "background_report"
    text: str
    task_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Invocation:
    """A skill or an MCP prompt invoked by name: `text` is the expanded body."""

    type: ClassVar[str] = "invocation"
    text: str
    kind: str
    name: str
    directive: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that an editor attached."""

    type: ClassVar[str] = "resource"
    text: str
    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image by the SHA-256 (hex) of its bytes, which the store holds once."""

    type: ClassVar[str] = "image"
    media_type: str
    hash: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning, with what lets the backend that wrote it take it back.

    `opaque` is Anthropic's signature, or the Responses API's encrypted content; `item_id` the latter's id.
    """

    type: ClassVar[str] = "thinking"
    thinking: str
    backend: str
    opaque: str = ""
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class RedactedThinking:
    """Reasoning that the provider sealed."""

    type: ClassVar[str] = "redacted_thinking"
    data: str
    backend: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool, as the model made it."""

    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReference:
    """A deferred tool that the provider expands where this item sits; only inside a tool result."""

    type: ClassVar[str] = "tool_reference"
    tool_name: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call."""

    type: ClassVar[str] = "tool_result"
    tool_use_id: str
    is_error: bool
    content: tuple["Text | Image | ToolReference", ...]


Block = (
    Text
    | TurnContext
    | Nudge
    | Inbox
    | Scheduled
    | BackgroundReport
    | Invocation
    | Resource
    | Image
    | Thinking
    | RedactedThinking
    | ToolUse
    | ToolResult
    | ToolReference
)
KINDS: Mapping[str, type[Any]] = {
    kind.type: kind
    for kind in (
        Text, TurnContext, Nudge, Inbox, Scheduled, BackgroundReport, Invocation, Resource, Image,
        Thinking, RedactedThinking, ToolUse, ToolResult, ToolReference,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation as the model sees it."""

    role: Role
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))


def to_record(block: Block) -> dict[str, Any]:
    """The JSON object that is stored for `block`; fields that are None or empty extras are left out."""
    record: dict[str, Any] = {"type": block.type}
    for field in fields(block):
        value = getattr(block, field.name)
        if value is None:
            continue
        if field.name == "content":
            value = [to_record(item) for item in value]
        elif isinstance(value, tuple):
            value = list(value)
        record[field.name.rstrip("_")] = value
    return record


def from_record(record: Mapping[str, Any]) -> Block:
    """The block that `record` was stored for. Raises: KeyError for a type that this program does not know."""
    kind = KINDS[record["type"]]
    values = {}
    for field in fields(kind):
        name = field.name.rstrip("_")
        if name not in record:
            continue
        value = record[name]
        if name == "content":
            value = tuple(from_record(item) for item in value)
        elif name == "task_ids":
            value = tuple(value)
        values[field.name] = value
    block: Block = kind(**values)
    return block


def to_records(content: Sequence[Block]) -> list[dict[str, Any]]:
    """`to_record` over a message's content."""
    return [to_record(block) for block in content]


def from_records(records: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    """`from_record` over a stored message's content."""
    return tuple(from_record(record) for record in records)

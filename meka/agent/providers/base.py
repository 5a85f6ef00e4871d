"""What every provider driver takes and gives: one request, a stream of neutral events, one class of error."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from meka.agent.blocks import Message


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, or summed over a turn's requests."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )

    @property
    def occupancy(self) -> int:
        """The part of the context window that the request and its reply took, in tokens."""
        return (
            self.input_tokens
            + self.cache_creation_input_tokens
            + self.cache_read_input_tokens
            + self.output_tokens
        )


class LoadImage(Protocol):
    """How a driver gets an image's bytes when it writes the request."""

    def __call__(self, image_hash: str) -> bytes | None:
        """The bytes stored under a hash, or None when they are gone."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model: what it is told, with what it may call.

    `stream` False asks for the whole reply at once (`--no-stream`); `thinking` False forces reasoning off for
    this call (compaction's summarizer). `session_id` keys the provider's prompt cache where it has one.
    `tools` are those that may be called as they stand; `deferred_tools` every tool that waits or waited to be
    loaded, for a provider that expands references to them.
    """

    session_id: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    load_image: LoadImage
    stream: bool = True
    thinking: bool = True
    deferred_tools: Sequence[ToolSchema] = ()


class StopReason(StrEnum):
    """Why a reply ended; `tool_use` means that the turn goes on."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider began answering; always the first event of an attempt that was not refused."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingComplete:
    """The reasoning block is whole; `opaque` and `item_id` as in `blocks.Thinking`."""

    opaque: str = ""
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class RedactedThinkingPart:
    data: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    """A call began to be written; its arguments follow."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """A call is whole, its arguments parsed."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolRejected:
    """A call whose arguments are no JSON object: recorded, answered with an error, never run."""

    id: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Counters of this request so far; each non-zero one replaces the one reported before."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """The reply is whole."""

    stop_reason: StopReason
    refusal_text: str = ""


@dataclass(frozen=True, slots=True)
class ProviderNotice:
    """An advisory for the person; `level` is `info` or `warn`."""

    level: str
    text: str


class Cause(StrEnum):
    """Why a provider did not serve a request; decides retry, fallback, repair and the problem's type."""

    TRANSIENT = "transient"  # outage, 429, 5xx, dropped connection, stalled or cut stream
    QUOTA = "quota"  # spent quota or billing
    CREDENTIAL = "credential"  # 401, 403
    MALFORMED = "malformed"  # 400, 422 on a completion
    OVERFLOW = "overflow"  # does not fit the model's window
    TOO_LARGE = "too_large"  # over the profile's max_request_bytes; never sent
    OTHER = "other"


class ProviderError(Exception):
    """A provider did not serve a request.

    `str(error)` is our own sentence, fit for a client; `upstream` is the provider's raw text and never in it.
    `retry_after` is in whole seconds, as the provider stated it; `status` its HTTP status, where it sent one.
    `oversize` says of a request that was too large to be sent how large, and how large it may be (bytes).
    """

    def __init__(
        self,
        cause: Cause,
        sentence: str,
        *,
        upstream: str | None = None,
        retry_after: int | None = None,
        status: int | None = None,
        oversize: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.cause = cause
        self.upstream = upstream
        self.retry_after = retry_after
        self.status = status
        self.oversize = oversize


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """An attempt failed and another follows after the wait: what came since the one before is void.

    Tokens that were reported of it were spent all the same.
    """

    error: ProviderError
    wait_seconds: float


ProviderEvent = (
    Accepted | TextDelta | ThinkingDelta | ThinkingComplete | RedactedThinkingPart | ToolStart | ToolEnd
    | ToolRejected | UsageReport | MessageEnd | ProviderNotice | AttemptFailed
)  # fmt: skip


class Provider(Protocol):
    """One profile's way to a model."""

    backend: str
    """The name that thinking blocks are tagged with."""

    sends_tools: bool
    """False where the model calls no tool (`local`): then no schemas and the short system prompt are sent."""

    sends_images: bool
    """False where the model takes none: texts stand in their place."""

    sends_result_images: bool
    """False where the protocol has no place for images in a tool's result."""

    expands_references: bool
    """True where a `ToolReference` in a result brings the tool's schema before the model."""

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """One attempt. Blocks its greenlet only; killing that greenlet closes the connection.

        Raises: ProviderError.
        """


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """What a driver needs of an account and a profile, resolved.

    Units: tokens, bytes. `thinking` is `adaptive`, `budgeted` or `off`; `thinking_display` (of a Claude
    subscription) `summarized`, `updates` or `redacted`; `api_key` is "" where none is needed, and `device_id`
    where requests name no device. With `deferred_tools` `native`, references to such tools are expanded.
    """

    backend: str
    base_url: str
    api_key: str
    model: str
    account: str = ""
    device_id: str = field(default="", repr=False)
    max_output_tokens: int | None = None
    effort: str | None = None
    vision: bool = True
    thinking: str = "adaptive"
    thinking_budget: int = 16000
    thinking_display: str = "summarized"
    max_request_bytes: int | None = None
    interleaved_thinking: bool = True
    prompt_cache_key: bool = False
    stream_usage: bool = True
    max_tool_name_bytes: int | None = None
    deferred_tools: str | None = None
    silence_seconds: float = 300.0
    connect_seconds: float = 30.0
    extra: Mapping[str, Any] = field(default_factory=dict)

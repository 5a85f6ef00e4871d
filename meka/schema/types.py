"""GENERATED from openapi.yaml by tools/codegen; edit the document, then run `make gen`."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict


Null: TypeAlias = None
"""An optional field of a request may be sent as null, which says the same as leaving it out."""


class ProblemDetail(TypedDict):
    """An error, as RFC 9457 shapes it. `type` is what a program branches on."""

    type: str
    title: str
    status: int
    detail: NotRequired[str]
    instance: NotRequired[str]
    session_id: NotRequired[str]
    turn_id: NotRequired[str]
    item_id: NotRequired[str]
    job_id: NotRequired[str]
    request_id: NotRequired[str]
    server: NotRequired[str]
    servers: NotRequired[list[str]]
    revision: NotRequired[int]
    total: NotRequired[int]
    max_body_bytes: NotRequired[int]
    retry_after: NotRequired[int]
    message_withdrawn: NotRequired[bool]
    provider_response: NotRequired[str]


class LiveResponse(TypedDict):
    status: Literal["ok"]


class ReadyResponse(TypedDict):
    status: Literal["ok", "degraded"]
    session_db: bool
    profile_configured: bool
    mcp_servers_healthy: bool


OpenApiDocument: TypeAlias = dict[str, Any]
"""An OpenAPI 3.0 document."""


PermissionLevel: TypeAlias = Literal["none", "read", "workspace", "unrestricted"]
"""What a session's tools may do; each level holds what the ones before it hold."""


class InfoResponse(TypedDict):
    version: str
    default_permission: PermissionLevel
    enabled_permissions: list[PermissionLevel]
    scopes: list[str]


class ProfileView(TypedDict):
    name: str
    account: str
    backend: NotRequired[str]
    model: NotRequired[str]
    vision: bool
    active: bool


class ProfilesResponse(TypedDict):
    profiles: list[ProfileView]


ThinkingMode: TypeAlias = Literal["adaptive", "budgeted", "off"]
"""How extended thinking is asked for."""


ThinkingDisplay: TypeAlias = Literal["summarized", "updates", "redacted"]
"""How reasoning is presented."""


DeferredTools: TypeAlias = Literal["native"]
"""How a loaded tool reaches the model, where the provider has a way of its own."""


class ProfileDetail(ProfileView):
    """A profile with every setting that it states."""

    context_window: NotRequired[int]
    max_output_tokens: NotRequired[int]
    effort: NotRequired[str]
    thinking: NotRequired[ThinkingMode]
    thinking_budget: NotRequired[int]
    max_request_bytes: NotRequired[int]
    thinking_display: NotRequired[ThinkingDisplay]
    deferred_tools: NotRequired[DeferredTools]
    fallbacks: NotRequired[list[str]]


class CreateProfileRequest(TypedDict):
    name: str
    account: str
    model: str
    vision: NotRequired[bool | None]
    context_window: NotRequired[int | None]
    max_output_tokens: NotRequired[int | None]
    effort: NotRequired[str | None]
    thinking: NotRequired[ThinkingMode | Null]
    thinking_budget: NotRequired[int | None]
    max_request_bytes: NotRequired[int | None]
    thinking_display: NotRequired[ThinkingDisplay | Null]
    deferred_tools: NotRequired[DeferredTools | Null]
    fallbacks: NotRequired[list[str] | None]
    default: NotRequired[bool | None]


Blank: TypeAlias = Literal[""]
"""An empty string removes the setting, as null does."""


class PatchProfileRequest(TypedDict):
    """A field left out keeps its value; null, or an empty string, removes it."""

    name: NotRequired[str | None]
    account: NotRequired[str | None]
    model: NotRequired[str | None]
    vision: NotRequired[bool | None]
    context_window: NotRequired[int | None]
    max_output_tokens: NotRequired[int | None]
    effort: NotRequired[str | None]
    thinking: NotRequired[ThinkingMode | Blank | Null]
    thinking_budget: NotRequired[int | None]
    max_request_bytes: NotRequired[int | None]
    thinking_display: NotRequired[ThinkingDisplay | Blank | Null]
    deferred_tools: NotRequired[DeferredTools | Blank | Null]
    fallbacks: NotRequired[list[str] | None]
    default: NotRequired[bool | None]


AccountBackend: TypeAlias = Literal["anthropic-messages", "claude-subscription", "openai-chat-completions", "openai-responses", "chatgpt-subscription", "local"]
"""The protocol or service that an account is on."""


Authenticated: TypeAlias = Literal["yes", "no", "unreadable"]
"""Whether a credential is stored that the backend takes; `unreadable` where it is of another kind or broken."""


class AccountView(TypedDict):
    name: str
    backend: AccountBackend | str
    base_url: NotRequired[str]
    oauth_token_url: NotRequired[str]
    client_id: NotRequired[str]
    interleaved_thinking: NotRequired[bool]
    prompt_cache_key: NotRequired[bool]
    stream_usage: NotRequired[bool]
    max_tool_name_bytes: NotRequired[int]
    device_id: NotRequired[str]
    authenticated: Authenticated


class AccountsResponse(TypedDict):
    accounts: list[AccountView]
    orphaned_credentials: NotRequired[list[str]]


class CreateAccountRequest(TypedDict):
    name: str
    backend: AccountBackend
    base_url: NotRequired[str | None]
    oauth_token_url: NotRequired[str | None]
    client_id: NotRequired[str | None]
    interleaved_thinking: NotRequired[bool | None]
    prompt_cache_key: NotRequired[bool | None]
    stream_usage: NotRequired[bool | None]
    max_tool_name_bytes: NotRequired[int | None]
    api_key: NotRequired[str | None]


class PatchAccountRequest(TypedDict):
    name: str


class AccountLoginRequest(TypedDict):
    api_key: str


class LoginBegunResponse(TypedDict):
    login_id: str
    authorization_url: str
    completes_with: Literal["code", "callback_url"]
    listening: bool
    expires_at: str


class LoginStatusResponse(TypedDict):
    login_id: str
    status: Literal["pending", "completed", "failed"]
    error: NotRequired[str]
    expires_at: str


class CompleteLoginRequest(TypedDict):
    code: str


class ConfigResponse(TypedDict):
    config_path: str
    data_dir: str
    config_loaded_at: str
    config_modified_at: NotRequired[str]
    config_changed: bool
    restart_required: list[str]


class ConfigReloadResponse(TypedDict):
    config_loaded_at: str
    restart_required: list[str]
    started: list[str]
    restarted: list[str]
    reconfigured: list[str]
    removed: list[str]


class InstructionsResponse(TypedDict):
    content: NotRequired[str]
    writable: bool
    path: NotRequired[str]
    source: NotRequired[str]


class WriteInstructionsRequest(TypedDict):
    content: str


class ProjectView(TypedDict):
    name: str
    created_at: NotRequired[str]


class ProjectsResponse(TypedDict):
    projects: list[ProjectView]


class CreateProjectRequest(TypedDict):
    name: str


class ToolView(TypedDict):
    name: str
    description: str
    required_permission: PermissionLevel
    deferred: bool


class ToolsResponse(TypedDict):
    tools: list[ToolView]


class CapabilitiesBody(TypedDict):
    """What the client can do with what a turn sends; each flag has a default."""

    supports_reasoning_stream: NotRequired[bool | None]
    supports_permission_prompts: NotRequired[bool | None]
    answers_prompts_on_return: NotRequired[bool | None]
    supports_elicitation: NotRequired[bool | None]


class CreateSessionRequest(TypedDict):
    working_directory: NotRequired[str | None]
    permission: NotRequired[PermissionLevel | Null]
    approvals: NotRequired[bool | None]
    profile: NotRequired[str | None]
    project: NotRequired[str | None]
    capabilities: NotRequired[CapabilitiesBody | None]


class PatchSessionRequest(TypedDict):
    working_directory: NotRequired[str | None]
    permission: NotRequired[PermissionLevel | Null]
    approvals: NotRequired[bool | None]
    profile: NotRequired[str | None]
    project: NotRequired[str | None]
    title: NotRequired[str | None]
    pinned: NotRequired[bool | None]


class ForkSessionBody(TypedDict):
    working_directory: NotRequired[str | None]


TurnSource: TypeAlias = Literal["client", "inbox", "schedule", "background", "parent"]
"""Who opened a turn."""


TurnStatus: TypeAlias = Literal["succeeded", "failed", "canceled"]


StopReason: TypeAlias = Literal["end_turn", "max_tokens", "refusal"]
"""Why the model stopped; on a turn that succeeded."""


class TurnError(TypedDict):
    """What a turn failed with, without anything the provider said."""

    type: str
    detail: str


class TurnUsage(TypedDict):
    """Tokens, over every round of the turn."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class TurnRecord(TypedDict):
    """A turn that began; it has `ended_at` and `status` once it ended."""

    id: str
    source: TurnSource
    started_at: str
    permission: PermissionLevel
    ended_at: NotRequired[str]
    status: NotRequired[TurnStatus]
    stop_reason: NotRequired[StopReason]
    error: NotRequired[TurnError]
    profile: NotRequired[str]
    usage: TurnUsage


class SessionView(TypedDict):
    """What the store knows of a session."""

    id: str
    created_at: str
    updated_at: str
    working_directory: NotRequired[str]
    permission: NotRequired[PermissionLevel]
    approvals: bool
    profile: str
    project: str
    title: str
    pinned_at: NotRequired[str]
    parent_id: NotRequired[str]
    last_turn: NotRequired[TurnRecord]


class SessionCapabilities(TypedDict):
    supports_reasoning_stream: bool
    supports_permission_prompts: bool
    answers_prompts_on_return: bool
    supports_elicitation: bool


ChecklistStatus: TypeAlias = Literal["pending", "in_progress", "deferred"]


class ChecklistItem(TypedDict):
    id: int
    text: str
    status: ChecklistStatus
    reason: NotRequired[str]
    task: NotRequired[str]


class SessionResponse(SessionView):
    """A session's record, with what this server knows of it besides the store."""

    capabilities: SessionCapabilities
    turn_in_flight: bool
    approvals_pending: NotRequired[int]
    inbox_pending: NotRequired[int]
    checklist: NotRequired[list[ChecklistItem]]


class ListSessionsResponse(TypedDict):
    sessions: list[SessionResponse]
    next_cursor: NotRequired[str]


SessionArchive: TypeAlias = dict[str, Any]
"""A session with all below it, as docs/archive.md describes; to clients it is opaque."""


class ImportResponse(TypedDict):
    session_id: str
    sessions_imported: int


class SessionMatchResponse(SessionResponse):
    """A session that was found."""

    excerpt: NotRequired[str]


class SearchSessionsResponse(TypedDict):
    sessions: list[SessionMatchResponse]


class ImageInput(TypedDict):
    """Either bytes (`media_type` and `data`) or the `hash` of an image the session's history holds."""

    media_type: NotRequired[str | None]
    data: NotRequired[str | None]
    hash: NotRequired[str | None]


UnansweredMessage: TypeAlias = Literal["keep", "withdraw"]


class TurnOptions(TypedDict):
    skill: NotRequired[str | None]
    unanswered_message: NotRequired[UnansweredMessage | Null]


class TurnRequest(TypedDict):
    """A message and how to run it; a text, an image or a skill must be there."""

    message: str
    images: NotRequired[list[ImageInput] | None]
    stream: NotRequired[bool | None]
    detach: NotRequired[bool | None]
    options: NotRequired[TurnOptions | None]


class CancelRequest(TypedDict):
    turn_id: NotRequired[str | None]


MessageRole: TypeAlias = Literal["user", "assistant"]


class TextBlock(TypedDict):
    """A person's words, or the model's."""

    type: Literal["text"]
    text: str


class TurnContextBlock(TypedDict):
    """What meka told the model ahead of the words."""

    type: Literal["turn_context"]
    text: str


NudgeKind: TypeAlias = Literal["visible_reply", "checklist"]
"""What was missing, a reply that can be seen or the end of the checklist."""


class NudgeBlock(TypedDict):
    """meka's words that sent the model back to work."""

    type: Literal["nudge"]
    kind: NudgeKind
    text: str


InboxClass: TypeAlias = Literal["steer", "followup", "interrupt"]
"""When the model reads it. At the next boundary of the turn that runs (`steer`), after that turn (`followup`), or at once, in place of the answer that is being written (`interrupt`)."""


InboxBlock = TypedDict(
    "InboxBlock",
    {
        "type": Literal["inbox"],
        "text": str,
        "body": str,
        "item_id": NotRequired[str],
        "class": NotRequired[InboxClass],
        "source": NotRequired[str],
    },
)
"""A message that came through the inbox."""


class ScheduledBlock(TypedDict):
    """A scheduled job's fire."""

    type: Literal["scheduled"]
    text: str
    job_id: str
    prompt: str


class BackgroundReportBlock(TypedDict):
    """What became of background tasks."""

    type: Literal["background_report"]
    text: str
    task_ids: list[str]


class InvocationBlock(TypedDict):
    """A skill or an MCP prompt that was invoked by name."""

    type: Literal["invocation"]
    text: str
    kind: Literal["skill", "mcp_prompt"]
    name: str
    directive: str


class ResourceBlock(TypedDict):
    """A file that was attached."""

    type: Literal["resource"]
    text: str
    uri: str
    name: str


class ImageBlock(TypedDict):
    """An image, named by the hash of its bytes."""

    type: Literal["image"]
    media_type: str
    hash: NotRequired[str]


class ThinkingBlock(TypedDict):
    """The model's reasoning."""

    type: Literal["thinking"]
    thinking: str


class RedactedThinkingBlock(TypedDict):
    """Reasoning that the provider sealed."""

    type: Literal["redacted_thinking"]


ToolInput: TypeAlias = dict[str, Any]
"""The arguments of a call, as the tool's own schema shapes them."""


class ToolUseBlock(TypedDict):
    """A call of a tool."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: ToolInput


class ToolReferenceBlock(TypedDict):
    """A deferred tool that became callable where this item stands."""

    type: Literal["tool_reference"]
    tool_name: str


ToolResultContentView: TypeAlias = TextBlock | ImageBlock | ToolReferenceBlock


class ToolResultBlock(TypedDict):
    """The answer to one call of a tool."""

    type: Literal["tool_result"]
    tool_use_id: str
    is_error: bool
    content: list[ToolResultContentView]


ContentBlockView: TypeAlias = TextBlock | TurnContextBlock | NudgeBlock | InboxBlock | ScheduledBlock | BackgroundReportBlock | InvocationBlock | ResourceBlock | ImageBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock


CompactionTrigger: TypeAlias = Literal["reactive", "proactive", "manual", "requested", "emergency", "retention"]
"""What set it going. The measured occupancy crossed the ceiling (`reactive`), the next request would have (`proactive`), a client asked (`manual`), the agent asked (`requested`), the provider refused the request as too large (`emergency`), or a turn got too old (`retention`)."""


SummarySource: TypeAlias = Literal["checkpoint", "summarizer"]
"""Who wrote the summary, the session's own model at a `checkpoint` or a `summarizer` without tools."""


class CompactionMarker(TypedDict):
    """What made the summary that a message is; absent on every other message."""

    trigger: CompactionTrigger
    source: SummarySource
    memories_written: list[str]
    kept_recent: bool
    replaced_count: int
    generation: int


class MessageView(TypedDict):
    role: MessageRole
    content: list[ContentBlockView]
    created_at: NotRequired[str]
    turn_id: NotRequired[str]
    turn_label: NotRequired[str]
    compaction: NotRequired[CompactionMarker]


NoticeLevel: TypeAlias = Literal["info", "warn"]


class NoticeView(TypedDict):
    level: NoticeLevel
    text: str


class TurnResponse(TypedDict):
    turn_id: str
    session_id: str
    stop_reason: StopReason
    refusal_text: NotRequired[str]
    messages: list[MessageView]
    usage: TurnUsage
    notices: list[NoticeView]


class TurnsResponse(TypedDict):
    session_id: str
    turns: list[TurnRecord]
    next_before: NotRequired[str]


EventStream: TypeAlias = str
"""Server-sent events, each with its name, its data as JSON and, when it is numbered, an id."""


class MessagesResponse(TypedDict):
    session_id: str
    messages: list[MessageView]
    total: int
    revision: int


class RewindRequestBody(TypedDict):
    turns: NotRequired[int | None]


class RewindResponse(TypedDict):
    session_id: str
    turns_removed: int
    messages_before: int
    messages_after: int


class CompactRequestBody(TypedDict):
    instructions: NotRequired[str | None]
    keep_recent: NotRequired[bool | None]


class CompactResponse(TypedDict):
    session_id: str
    source: SummarySource
    memories_written: list[str]
    kept_recent: bool
    messages_before: int
    messages_after: int


class SessionTotals(TypedDict):
    """The turns of a session, and their tokens together."""

    turns: int
    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class ContextResponse(TypedDict):
    """Tokens, but for the counts."""

    session_id: str
    used: NotRequired[int]
    window: NotRequired[int]
    overhead: NotRequired[int]
    compact_at_percent: NotRequired[int]
    generation: int
    message_count: NotRequired[int]
    totals: SessionTotals


InboxRequest = TypedDict(
    "InboxRequest",
    {
        "message": str,
        "class": InboxClass,
        "source": NotRequired[str | None],
    },
)


InboxState: TypeAlias = Literal["pending", "appended", "delivered", "withdrawn"]
"""Where an item stands. It waits (`pending`), its words are in the conversation (`appended`), the provider has accepted them (`delivered`), or it was taken back or given up on (`withdrawn`)."""


class InboxError(TypedDict):
    """What an attempt to deliver failed with, without anything the provider said."""

    type: str
    title: str
    status: int
    detail: str


InboxResponse = TypedDict(
    "InboxResponse",
    {
        "item_id": str,
        "session_id": str,
        "class": InboxClass,
        "state": InboxState,
        "replayed": bool,
        "retry_until": str,
        "not_before": NotRequired[str],
        "failure": NotRequired[str],
        "last_error": NotRequired[InboxError],
    },
)
"""What became of an item that was handed over."""


InboxItemView = TypedDict(
    "InboxItemView",
    {
        "id": str,
        "session_id": str,
        "class": InboxClass,
        "source": NotRequired[str],
        "state": InboxState,
        "created_at": str,
        "appended_at": NotRequired[str],
        "retry_until": str,
        "delivered_at": NotRequired[str],
        "withdrawn_at": NotRequired[str],
        "failure": NotRequired[str],
        "not_before": NotRequired[str],
        "last_error": NotRequired[InboxError],
    },
)
"""An item the model has not been shown."""


class InboxListResponse(TypedDict):
    session_id: str
    items: list[InboxItemView]


AnswerOutcome: TypeAlias = Literal["allow", "deny", "allow_always", "deny_always", "accept", "decline", "cancel"]
"""The first four answer a `permission_required`, which takes no other; the `_always` ones hold for the tool as long as the session is loaded. The last three answer an MCP server's question."""


class ResponseBody(TypedDict):
    outcome: AnswerOutcome
    content: NotRequired[dict[str, Any] | None]


TaskStatus: TypeAlias = Literal["running", "completed", "failed", "canceled", "interrupted"]
"""How a task stands; `interrupted` is one whose process went away."""


class BackgroundTaskView(TypedDict):
    """A call that runs on in the background."""

    id: str
    session_id: str
    tool: str
    label: str
    status: TaskStatus
    started_at: str
    finished_at: NotRequired[str]
    outcome: NotRequired[str]
    scratchpad_entry: NotRequired[str]
    announced_at: NotRequired[str]
    delivered_at: NotRequired[str]
    subagent_id: NotRequired[str]


class BackgroundTasksResponse(TypedDict):
    tasks: list[BackgroundTaskView]


class TurnEvent(TypedDict):
    """What every event of a turn says."""

    session_id: str
    turn_id: str


class SessionEvent(TypedDict):
    """What every event of a session says."""

    session_id: str
    turn_id: NotRequired[str]


class TurnStartedEvent(TurnEvent):
    source: Literal["client", "inbox", "schedule", "background", "compaction", "parent"]
    started_at: NotRequired[str]
    resumed: NotRequired[bool]
    item_ids: NotRequired[list[str]]
    job_id: NotRequired[str]
    parent_id: NotRequired[str]
    tool_call_id: NotRequired[str]


class TurnFinishedEvent(TurnEvent):
    stop_reason: StopReason
    refusal_text: NotRequired[str]
    usage: TurnUsage
    revision: NotRequired[int]


class TurnFailedEvent(TurnEvent):
    error: ProblemDetail
    message_withdrawn: NotRequired[bool]
    revision: NotRequired[int]


CancelReason: TypeAlias = Literal["client", "server_shutdown", "sse_lag", "abandoned", "parent"]
"""Who or what stopped the turn."""


class TurnCanceledEvent(TurnEvent):
    reason: CancelReason
    message_withdrawn: NotRequired[bool]
    revision: NotRequired[int]


class TurnNudgedEvent(TurnEvent):
    kind: NudgeKind
    text: str


class MessageAppendedEvent(TurnEvent):
    message: MessageView
    resumed: NotRequired[bool]


class TextDeltaEvent(TurnEvent):
    text: str


class ToolCallComposingEvent(TurnEvent):
    id: str
    name: str


class ToolCallExecutingEvent(TurnEvent):
    id: str
    name: str
    input: ToolInput
    display_summary: NotRequired[str]


class ToolCallOutputDeltaEvent(TurnEvent):
    id: str
    chunk: str


class ToolChange(TypedDict):
    """The text that a call changed, whole, before and after."""

    path: NotRequired[str]
    old: NotRequired[str]
    new: NotRequired[str]


class ToolCallCompletedEvent(TurnEvent):
    id: str
    is_error: bool
    content: list[ToolResultContentView]
    change: NotRequired[ToolChange]


class NoticeEvent(TurnEvent, NoticeView):
    pass


class TaskReportedEvent(TurnEvent):
    text: str
    task_ids: list[str]


class PermissionRequiredEvent(TurnEvent):
    request_id: str
    tool_name: str
    input: ToolInput
    expires_in_seconds: int
    expires_at: str
    subagent_id: NotRequired[str]


PermissionOutcome: TypeAlias = Literal["allow", "deny", "allow_always", "deny_always", "expired", "canceled"]
"""The answer, or that none came in time (`expired`), or that the turn ended or nobody was left to answer (`canceled`)."""


class PermissionResolvedEvent(TurnEvent):
    request_id: str
    outcome: PermissionOutcome
    subagent_id: NotRequired[str]


class InboxDeliveredEvent(TurnEvent):
    item_ids: list[str]


class InboxDeferredEvent(SessionEvent):
    item_id: str
    not_before: str
    error: ProblemDetail


class InboxFailedEvent(SessionEvent):
    item_id: str
    reason: str
    error: ProblemDetail


class InboxWithdrawnEvent(SessionEvent):
    item_id: str


class ChecklistUpdatedEvent(SessionEvent):
    items: list[ChecklistItem]


class ContextCompactingEvent(SessionEvent):
    compaction_id: str
    trigger: CompactionTrigger


class ContextCompactedEvent(SessionEvent, CompactionMarker):
    compaction_id: str


class ContextCompactionFailedEvent(SessionEvent):
    compaction_id: str
    trigger: CompactionTrigger
    interrupted: bool
    error: NotRequired[ProblemDetail]


class ConversationRewoundEvent(SessionEvent):
    revision: int
    total: int
    turns_removed: int


class SessionRecordEvent(SessionResponse, SessionEvent):
    """The session's whole record."""


class SessionDeletedEvent(TypedDict):
    id: str
    session_id: str


class FeedGapEvent(TypedDict):
    session_id: NotRequired[str]
    turn_id: NotRequired[str]
    dropped: NotRequired[int]

"""config.toml as values: one frozen dataclass a table, every key with its default.

A key that is None or empty was left out where the default depends on something else (`meka.config.catalog`
resolves those). Types say what `meka.config.decode` lets in: `Positive`, `Span` and `Within` are its rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, TypeVar

from meka.base.levels import ORDER, Level
from meka.config.decode import AtLeast, Ignored, Positive, Seconds, Span, Within

Value = TypeVar("Value")
Count = Annotated[int, AtLeast(0)]
Percent = Annotated[int, Within(1, 100)]
Port = Annotated[int, Within(1, 65535)]
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

DEFAULT_CONTEXT_WINDOW = 1_000_000
DEFAULT_THINKING_BUDGET = 16_000
SHORTEST_TOOL_NAME_BYTES = 16
"""Room for the start of a name and the mark that keeps shortened names apart."""


def _empty_map() -> Mapping[str, Value]:
    return MappingProxyType({})


class ThinkingMode(StrEnum):
    """How extended thinking is asked for."""

    ADAPTIVE = "adaptive"
    BUDGETED = "budgeted"
    OFF = "off"


class ThinkingDisplay(StrEnum):
    """How reasoning is presented."""

    SUMMARIZED = "summarized"
    UPDATES = "updates"
    REDACTED = "redacted"


class DeferredTools(StrEnum):
    """How a deferred tool reaches the model once it is loaded, where the provider has a way of its own."""

    NATIVE = "native"


class Deferral(StrEnum):
    """Whether an MCP server's tools wait to be loaded."""

    DEFERRED = "deferred"
    EAGER = "eager"


class Transport(StrEnum):
    """How an MCP server is reached."""

    STDIO = "stdio"
    HTTP = "http"


class McpAuthType(StrEnum):
    """The OAuth grant an MCP server is entered with."""

    OAUTH = "oauth"
    CLIENT_CREDENTIALS = "client_credentials"
    CLIENT_CREDENTIALS_JWT = "client_credentials_jwt"


class SigningAlgorithm(StrEnum):
    """How a client assertion is signed."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    ES256 = "ES256"
    ES384 = "ES384"


class SandboxBackend(StrEnum):
    """What confines shell commands on Linux."""

    LANDLOCK = "landlock"
    BUBBLEWRAP = "bubblewrap"
    BUBBLEWRAP_LANDLOCK = "bubblewrap-landlock"


class WebhookEvent(StrEnum):
    """What a webhook can be told of."""

    TURN_FINISHED = "turn.finished"
    TURN_FAILED = "turn.failed"
    TASK_FINISHED = "task.finished"
    SCHEDULE_FIRED = "schedule.fired"
    INBOX_DEFERRED = "inbox.deferred"
    INBOX_DELIVERED = "inbox.delivered"
    INBOX_FAILED = "inbox.failed"


@dataclass(frozen=True, slots=True)
class Account:
    """`[accounts.<name>]`: a backend and where it answers; its credential is in the store.

    `backend` is free text here: an unknown one is reported when a profile comes to it.
    """

    backend: str
    base_url: str | None = None
    oauth_token_url: str | None = None
    client_id: str | None = None
    device_id: str | None = None
    interleaved_thinking: bool | None = None
    prompt_cache_key: bool | None = None
    stream_usage: bool | None = None
    max_tool_name_bytes: Annotated[int, AtLeast(SHORTEST_TOOL_NAME_BYTES)] | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """`[profiles.<name>]`: a model on an account, and how it is used. Units: tokens, bytes."""

    account: str
    model: str | None = None
    context_window: Positive | None = None
    max_output_tokens: Positive | None = None
    effort: str | None = None
    vision: bool | None = None
    thinking: ThinkingMode | None = None
    thinking_budget: Positive | None = None
    max_request_bytes: Positive | None = None
    thinking_display: ThinkingDisplay | None = None
    deferred_tools: DeferredTools | None = None
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpAuth:
    """`[mcp.servers.auth]`: the OAuth side of a server; secrets are in the store."""

    type: McpAuthType
    client_id: str | None = None
    scopes: tuple[str, ...] = ()
    resource: str | None = None
    signing_key_path: str | None = None
    signing_algorithm: SigningAlgorithm | None = None
    redirect_port: Port | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    """`[[mcp.servers]]`: one server. None where `[mcp]` or the transport decides."""

    name: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_empty_map)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=_empty_map)
    headers_helper: str | None = None
    auth: McpAuth | None = None
    permission: Level | None = None
    tool_permissions: Mapping[str, Level] = field(default_factory=_empty_map)
    trust_read_only_hint: bool = True
    allowed_tools: tuple[str, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    eager_load_tools: tuple[str, ...] = ()
    deferral: Deferral | None = None
    required: bool | None = None
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Mcp:
    """`[mcp]`: what servers share, and the servers."""

    default_permission: Level | None = None
    default_required: bool = False
    deferral: Deferral = Deferral.DEFERRED
    grace: Seconds = 3.0
    connect_timeout: Span = 30.0
    stdio_concurrency: Positive = 3
    http_concurrency: Positive = 20
    servers: tuple[McpServer, ...] = ()


@dataclass(frozen=True, slots=True)
class Permissions:
    """`[permissions]`: the levels a session may take, and the one it starts on."""

    default: Level = Level.READ
    enabled: tuple[Level, ...] = ORDER
    approvals: bool = False


@dataclass(frozen=True, slots=True)
class Shell:
    """`[shell]`: how `shell_execute` is confined."""

    sandbox: bool = True
    sandbox_backend: SandboxBackend | None = None
    jailbroker_socket: str = "/var/run/jailbroker.sock"


@dataclass(frozen=True, slots=True)
class Tools:
    """`[tools]`: which built-in tools there are, and at which level."""

    allowed_tools: tuple[str, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    tool_permissions: Mapping[str, Level] = field(default_factory=_empty_map)


@dataclass(frozen=True, slots=True)
class Subagents:
    """`[subagents]`: what a session spawned by an agent goes without."""

    disabled_servers: tuple[str, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    agent_chosen_profile: bool = False


@dataclass(frozen=True, slots=True)
class Instructions:
    """`[instructions]`: files read when a session opens."""

    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skills:
    """`[skills]`."""

    enabled: bool = True
    agent_managed: bool = False
    extra_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """`[memory]`. Units: bytes over all inlined bodies."""

    enabled: bool = True
    inline_max_bytes: Count = 16384


@dataclass(frozen=True, slots=True)
class Schedule:
    """`[schedule]`: jobs per session, and how they are claimed and gated."""

    enabled: bool = True
    poll_interval: Span = 10.0
    missed_grace: Seconds = DAY
    gate_timeout: Span = 30.0
    max_jobs: Positive = 50
    max_consecutive_fires: Positive = 5
    claim_lease: Seconds = HOUR


@dataclass(frozen=True, slots=True)
class Background:
    """`[background]`: tool calls that go on beside the turn."""

    enabled: bool = False
    max_tasks: Count = 10


@dataclass(frozen=True, slots=True)
class Session:
    """`[session]`: how long conversations live, and how they are compacted."""

    retention: Span | None = None
    auto_compact: bool = True
    context_ceiling_percent: Percent = 85
    compact_checkpoint: bool = True
    context_window: Positive | None = None
    subagent_max_depth: Count = 3
    turn_retention: Span | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """`[thinking]`."""

    budget: Positive | None = None
    show_content: bool = False


@dataclass(frozen=True, slots=True)
class Web:
    """`[web]`: the client behind `web_fetch`. `min_tls_version` is free text: an unknown one is ignored."""

    user_agent: str | None = None
    request_timeout: Span = 30.0
    connect_timeout: Span | None = None
    read_timeout: Span | None = None
    max_redirects: Count = 10
    proxy: str | None = None
    ca_cert_file: str | None = None
    https_only: bool = False
    min_tls_version: str | None = None
    danger_accept_invalid_certs: bool = False
    danger_accept_invalid_hostnames: bool = False


@dataclass(frozen=True, slots=True)
class Display:
    """`[display]`: a terminal's; only `stream` means something here (`--no-stream`, for good)."""

    stream: bool = True
    render_mode: Ignored = None
    max_width: Ignored = None
    tool_params: Ignored = None
    show_session_id_on_create: Ignored = None
    show_session_id_on_resume: Ignored = None
    show_session_id_on_exit: Ignored = None
    show_path_in_prompt: Ignored = None
    show_context_in_prompt: Ignored = None
    newline_before_prompt: Ignored = None
    newline_after_prompt: Ignored = None
    show_token_usage: Ignored = None
    resume_show_recent: Ignored = None
    input_style: Ignored = None


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """`[[serve.tokens]]` as written; `meka.config.secrets` makes it a `Token`."""

    scopes: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """`[[serve.webhooks]]` as written; `meka.config.secrets` makes it a `Webhook`."""

    url: str = field(repr=False)
    events: tuple[WebhookEvent, ...]
    secret: str | None = field(default=None, repr=False)
    secret_file: str | None = None
    timeout: Span = 10.0
    max_retries: Count = 3


@dataclass(frozen=True, slots=True)
class Serve:
    """`[serve]`: the HTTP server."""

    bind: str = "127.0.0.1:8080"
    cors_allowed_origins: tuple[str, ...] = ()
    max_body_bytes: Positive = 10 * 1024 * 1024
    max_concurrent_turns: Positive | None = None
    stream_replay_events: Count = 256
    stream_reattach_grace: Seconds = 30.0
    inbox_retry_ceiling: Seconds = HOUR
    idle_timeout: Seconds = DAY
    gc_scan_interval: Span = 5 * MINUTE
    delete_on_idle: bool = False
    shutdown_drain_timeout: Seconds = 30.0
    relay_provider_errors: bool = True
    docs: bool = False
    tokens: tuple[TokenEntry, ...] = ()
    webhooks: tuple[WebhookEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """config.toml, whole."""

    default_profile: str | None = None
    accounts: Mapping[str, Account] = field(default_factory=_empty_map)
    profiles: Mapping[str, Profile] = field(default_factory=_empty_map)
    mcp: Mcp = field(default_factory=Mcp)
    permissions: Permissions = field(default_factory=Permissions)
    shell: Shell = field(default_factory=Shell)
    tools: Tools = field(default_factory=Tools)
    subagents: Subagents = field(default_factory=Subagents)
    instructions: Instructions = field(default_factory=Instructions)
    skills: Skills = field(default_factory=Skills)
    memory: Memory = field(default_factory=Memory)
    schedule: Schedule = field(default_factory=Schedule)
    background: Background = field(default_factory=Background)
    session: Session = field(default_factory=Session)
    thinking: Thinking = field(default_factory=Thinking)
    web: Web = field(default_factory=Web)
    display: Display = field(default_factory=Display)
    serve: Serve = field(default_factory=Serve)

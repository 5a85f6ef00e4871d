"""The backends an account can name: where they answer, and which settings each of them reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Backend(StrEnum):
    """The protocols and services that meka speaks to."""

    ANTHROPIC_MESSAGES = "anthropic-messages"
    CLAUDE_SUBSCRIPTION = "claude-subscription"
    OPENAI_CHAT_COMPLETIONS = "openai-chat-completions"
    OPENAI_RESPONSES = "openai-responses"
    CHATGPT_SUBSCRIPTION = "chatgpt-subscription"
    LOCAL = "local"


class Credential(StrEnum):
    """What an account presents to its backend."""

    API_KEY = "api_key"
    OAUTH = "oauth"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """What the configuration has to know of a backend.

    `account_keys` and `profile_keys` are the optional settings it reads; `max_request_bytes` is the ceiling
    of a profile that states none, `effort` the one that is sent for it. `is_anthropic`: thinking settings
    mean something to it, and its base URL goes without a `/v1` at the end.
    """

    credential: Credential
    base_url: str
    oauth_token_url: str
    account_keys: frozenset[str]
    profile_keys: frozenset[str]
    is_anthropic: bool = False
    max_request_bytes: int | None = None
    effort: str | None = None


EVERY_PROFILE_KEY = frozenset({"account", "model", "context_window", "vision", "fallbacks"})
_SENT = frozenset({"max_output_tokens", "effort", "max_request_bytes"})
_THINKING = frozenset({"thinking", "thinking_budget", "deferred_tools"})
_OAUTH = frozenset({"base_url", "oauth_token_url", "client_id"})
_ANTHROPIC_REQUEST_BYTES = 30 * 1024 * 1024
_CLAUDE_TOKEN_URL = "https://platform.claude.com/v1/oauth/token"  # noqa: S105 - an address
_OPENAI_TOKEN_URL = "https://auth.openai.com/oauth/token"  # noqa: S105 - an address

FACTS: Mapping[Backend, BackendFacts] = MappingProxyType(
    {
        Backend.ANTHROPIC_MESSAGES: BackendFacts(
            Credential.API_KEY,
            base_url="https://api.anthropic.com",
            oauth_token_url="",
            account_keys=frozenset({"base_url", "interleaved_thinking", "max_tool_name_bytes"}),
            profile_keys=EVERY_PROFILE_KEY | _SENT | _THINKING,
            is_anthropic=True,
            max_request_bytes=_ANTHROPIC_REQUEST_BYTES,
        ),
        Backend.CLAUDE_SUBSCRIPTION: BackendFacts(
            Credential.OAUTH,
            base_url="https://api.anthropic.com",
            oauth_token_url=_CLAUDE_TOKEN_URL,
            account_keys=_OAUTH | {"device_id"},
            profile_keys=EVERY_PROFILE_KEY | _SENT | _THINKING | {"thinking_display"},
            is_anthropic=True,
            max_request_bytes=_ANTHROPIC_REQUEST_BYTES,
            effort="medium",
        ),
        Backend.OPENAI_CHAT_COMPLETIONS: BackendFacts(
            Credential.API_KEY,
            base_url="https://api.openai.com/v1",
            oauth_token_url="",
            account_keys=frozenset({"base_url", "prompt_cache_key", "stream_usage", "max_tool_name_bytes"}),
            profile_keys=EVERY_PROFILE_KEY | _SENT,
        ),
        Backend.OPENAI_RESPONSES: BackendFacts(
            Credential.API_KEY,
            base_url="https://api.openai.com/v1",
            oauth_token_url="",
            account_keys=frozenset({"base_url", "prompt_cache_key", "max_tool_name_bytes"}),
            profile_keys=EVERY_PROFILE_KEY | _SENT,
        ),
        Backend.CHATGPT_SUBSCRIPTION: BackendFacts(
            Credential.OAUTH,
            base_url="https://chatgpt.com",
            oauth_token_url=_OPENAI_TOKEN_URL,
            account_keys=_OAUTH | {"prompt_cache_key"},
            profile_keys=EVERY_PROFILE_KEY | _SENT,
        ),
        Backend.LOCAL: BackendFacts(
            Credential.NONE,
            base_url="",
            oauth_token_url="",
            account_keys=frozenset(),
            profile_keys=EVERY_PROFILE_KEY | {"max_output_tokens", "max_request_bytes"},
        ),
    }
)


def facts_of(backend: str) -> BackendFacts | None:
    """What is known of `backend`; None for a name that is no backend of this version."""
    return FACTS[Backend(backend)] if backend in tuple(Backend) else None


def backend_names() -> str:
    """Every backend, as a sentence lists them."""
    return ", ".join(Backend)


def normalize_base_url(backend: Backend, base_url: str | None) -> str:
    """The address requests are made under: the stated one without its trailing `/`, or the backend's own.

    On an Anthropic-protocol backend one trailing `/v1` is dropped too; others are used as written.
    """
    facts = FACTS[backend]
    stated = (base_url or "").strip().rstrip("/")
    if not stated:
        return facts.base_url
    return stated.removesuffix("/v1").rstrip("/") if facts.is_anthropic else stated

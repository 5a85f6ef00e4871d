"""A provider from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from meka.agent.providers import anthropic, chat_completions, responses
from meka.agent.providers.anthropic import AnthropicWire
from meka.agent.providers.base import Provider, ProviderSettings
from meka.agent.providers.chat_completions import ChatCompletionsWire
from meka.agent.providers.local import Endpoint, LocalProvider
from meka.agent.providers.responses import ResponsesWire
from meka.agent.providers.subscription import AccessToken, SubscriptionProvider
from meka.agent.providers.wire import Wire, WireProvider
from meka.base.ids import Ids, RandomIds

LOCAL = "local"
SUBSCRIPTIONS = ("claude-subscription", "chatgpt-subscription")


class ProviderSettingsError(ValueError):
    """No provider can be built from the settings; the sentence names the account, never a URL or a key."""


@dataclass(frozen=True, slots=True)
class _Backend:
    wire: Callable[[ProviderSettings, Ids], Wire]
    base_url: str
    drops_v1: bool = False


_BACKENDS: Mapping[str, _Backend] = {
    "anthropic-messages": _Backend(AnthropicWire, anthropic.DEFAULT_BASE_URL, drops_v1=True),
    "openai-chat-completions": _Backend(ChatCompletionsWire, chat_completions.DEFAULT_BASE_URL),
    "openai-responses": _Backend(ResponsesWire, responses.DEFAULT_BASE_URL),
    "claude-subscription": _Backend(AnthropicWire, anthropic.DEFAULT_BASE_URL, drops_v1=True),
    "chatgpt-subscription": _Backend(ResponsesWire, "https://chatgpt.com"),
}


def build_provider(
    settings: ProviderSettings,
    *,
    ids: Ids | None = None,
    local_endpoint: Endpoint | None = None,
    access_token: AccessToken | None = None,
) -> Provider:
    """The driver for `settings`; `local_endpoint` is where the backend `local` finds its server, and
    `access_token` where a subscription gets what it presents.

    Raises: ProviderSettingsError.
    """
    ids = ids or RandomIds()
    if settings.backend == LOCAL:
        if local_endpoint is None:
            raise _refused(settings, "runs on the backend 'local', which is not available here")
        return LocalProvider(settings, local_endpoint, ids)
    backend = _BACKENDS.get(settings.backend)
    if backend is None:
        raise _refused(settings, f"names the unknown backend '{settings.backend}'")
    if settings.backend not in SUBSCRIPTIONS:
        return WireProvider(settings, backend.wire(settings, ids), base_url(settings, backend))
    if access_token is None:
        raise _refused(settings, f"runs on the backend '{settings.backend}', which is not available here")
    url, wire_ids = base_url(settings, backend), ids

    def make_driver(present: ProviderSettings) -> WireProvider:
        return WireProvider(present, backend.wire(present, wire_ids), url)

    return SubscriptionProvider(settings, make_driver, access_token)


def base_url(settings: ProviderSettings, backend: _Backend) -> str:
    """Where requests go: the account's own address without trailing slashes, or the backend's."""
    url = settings.base_url.strip().rstrip("/")
    if not url:
        return backend.base_url
    parts = _split(settings, url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused(settings, "has a base_url that is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise _refused(settings, "has a base_url that holds a user name or a password")
    if parts.query or parts.fragment:
        raise _refused(settings, "has a base_url with a query or a fragment")
    return url.removesuffix("/v1") if backend.drops_v1 else url


def _split(settings: ProviderSettings, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # read for its check
    except ValueError:
        raise _refused(settings, "has a base_url that is no http or https address") from None
    return parts


def _refused(settings: ProviderSettings, why: str) -> ProviderSettingsError:
    return ProviderSettingsError(f"account '{settings.account}' {why}")

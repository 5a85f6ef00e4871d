"""What a provider is built from, and what is refused."""

import pytest

from meka.agent.providers.build import ProviderSettingsError, build_provider
from meka.agent.providers.wire import WireProvider
from tests.loopback_provider import LoopbackProvider
from tests.unit.agent.providers.samples import a_request, some_settings


@pytest.mark.parametrize(
    ("backend", "suffix", "path"),
    [
        ("anthropic-messages", "", "/v1/messages"),
        ("anthropic-messages", "/v1", "/v1/messages"),
        ("anthropic-messages", "/v1///", "/v1/messages"),
        ("anthropic-messages", "/proxy/v1/v1", "/proxy/v1/v1/messages"),
        ("openai-chat-completions", "", "/chat/completions"),
        ("openai-chat-completions", "/v1/ ", "/v1/chat/completions"),
        ("openai-responses", "/openai/v1", "/openai/v1/responses"),
    ],
)
def test_the_base_url_is_followed_by_the_protocols_path(backend: str, suffix: str, path: str) -> None:
    with LoopbackProvider() as upstream:
        provider = build_provider(some_settings(backend, base_url=f"  {upstream.root}{suffix}"))
        assert isinstance(provider, WireProvider)
        list(provider.stream(a_request()))
        provider.close()

        assert upstream.requests[0].path == path


@pytest.mark.parametrize("backend", ["anthropic-messages", "openai-chat-completions", "openai-responses"])
def test_an_account_without_a_base_url_goes_to_the_vendor(backend: str) -> None:
    assert build_provider(some_settings(backend)).backend == backend


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/v1",
        "host/v1",
        "http://",
        "http://user:secret@host/v1",
        "http://host:port/v1",
        "http://host/v1?api-version=1",
        "http://host/v1#x",
        "http://[::1",
    ],
)
def test_a_base_url_of_another_shape_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ProviderSettingsError, match="account 'work' has a base_url") as caught:
        build_provider(some_settings("openai-responses", base_url=url))

    assert "host" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("backend", ["claude-subscription", "chatgpt-subscription", "local", "nonsense"])
def test_a_backend_that_is_not_there_is_refused_by_name(backend: str) -> None:
    with pytest.raises(ProviderSettingsError, match=f"account 'work' .*'{backend}'"):
        build_provider(some_settings(backend))

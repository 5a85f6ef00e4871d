"""The backend `local` talks to wherever its server is now, and offers it no tools."""

from collections.abc import Iterator

import pytest

from meka.agent.providers.base import Cause, ProviderError, TextDelta
from meka.agent.providers.build import build_provider
from meka.agent.providers.local import LocalProvider
from tests.loopback_provider import LoopbackProvider
from tests.unit.agent.providers.samples import READ_FILE, CountingIds, a_request, some_settings

SETTINGS = some_settings("local", api_key="", model="smollm2-135m")


@pytest.fixture
def upstream() -> Iterator[LoopbackProvider]:
    with LoopbackProvider([[{"type": "text", "text": "hi"}]]) as provider:
        yield provider


def test_a_request_goes_to_the_servers_address_with_its_key_and_no_tools(upstream: LoopbackProvider) -> None:
    provider = build_provider(SETTINGS, local_endpoint=lambda: (upstream.base_url, "child-key"))
    assert isinstance(provider, LocalProvider)

    events = list(provider.stream(a_request(tools=[READ_FILE])))
    provider.close()

    received = upstream.requests[0]
    assert TextDelta("hi") in events
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == "Bearer child-key"
    assert "tools" not in received.body
    assert provider.sends_tools is False


def test_a_server_that_was_started_again_is_found_at_its_new_address(upstream: LoopbackProvider) -> None:
    with LoopbackProvider() as first:
        addresses = [(first.base_url, "one"), (upstream.base_url, "two")]
        provider = LocalProvider(SETTINGS, lambda: addresses.pop(0), CountingIds())
        list(provider.stream(a_request()))
        list(provider.stream(a_request()))
        provider.close()

        assert first.requests[0].headers["authorization"] == "Bearer one"
        assert upstream.requests[0].headers["authorization"] == "Bearer two"


def test_the_server_is_asked_for_only_by_a_request() -> None:
    def never() -> tuple[str, str]:
        raise ProviderError(Cause.TRANSIENT, "it does not start")

    provider = LocalProvider(SETTINGS, never, CountingIds())

    with pytest.raises(ProviderError, match="does not start"):
        list(provider.stream(a_request()))

"""What a subscription's requests hold beyond the plain protocol, over the loopback."""

from collections.abc import Iterator
from typing import Any

import pytest

from meka.agent.providers.base import ModelRequest
from meka.agent.providers.build import build_provider
from tests.loopback_provider import LoopbackProvider, Received
from tests.unit.agent.providers.samples import a_request, some_settings


@pytest.fixture
def upstream() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as provider:
        yield provider


def sent(upstream: LoopbackProvider, request: ModelRequest, **changes: Any) -> Received:
    """The request as the endpoint received it."""
    settings = some_settings("claude-subscription", base_url=upstream.root, api_key="", **changes)
    list(build_provider(settings, access_token=lambda _refused: "token").stream(request))
    return upstream.requests[-1]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_reasoning_is_asked_for_as_the_profile_says(upstream: LoopbackProvider, stream: bool) -> None:
    request = a_request(stream=stream)

    shown = sent(upstream, request, thinking_display="updates")
    sealed = sent(upstream, request, thinking_display="redacted")

    assert shown.body["thinking"] == {"type": "adaptive", "display": "updates"}
    assert sealed.body["thinking"] == {"type": "adaptive"}
    assert shown.headers["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert sealed.headers["anthropic-beta"].split(",")[1] == "redact-thinking-2026-02-12"
    assert shown.headers["authorization"] == "Bearer token"

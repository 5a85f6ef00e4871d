"""What a subscription's requests hold beyond the plain protocol, over the loopback."""

import json
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


def test_requests_say_whose_they_are_without_a_name(upstream: LoopbackProvider) -> None:
    device = "ab" * 32

    named = [
        sent(upstream, a_request(session_id=session), device_id=device, account=account)
        for session, account in (("s-1", "jo@home"), ("s-1", "work"), ("s-2", "work"))
    ]

    ids = [json.loads(each.body["metadata"]["user_id"]) for each in named]
    assert [(each["device"], each["session"]) for each in ids] == [
        (device, "s-1"), (device, "s-1"), (device, "s-2")
    ]  # fmt: skip
    assert ids[0]["account"] != ids[1]["account"] == ids[2]["account"]
    assert "jo@home" not in json.dumps(named[0].body)
    assert all(set(each) == {"device", "account", "session"} for each in ids)
    assert all(len(each.body["metadata"]["user_id"]) <= 256 for each in named)
    assert "metadata" not in sent(upstream, a_request()).body


def test_device_is_not_in_what_settings_print() -> None:
    assert "secret-device" not in repr(some_settings("claude-subscription", device_id="secret-device"))

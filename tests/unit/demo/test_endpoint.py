"""The demo's scripted endpoint, read by the driver that reads it in the demo."""

from meka.agent.blocks import Message, Role, Text
from meka.agent.providers.base import (
    MessageEnd,
    ModelRequest,
    ProviderEvent,
    ProviderSettings,
    StopReason,
    TextDelta,
    ToolEnd,
)
from meka.agent.providers.build import build_provider
from tools.demo.endpoint import scripted_endpoint
from tools.demo.script import REPLIES, Reply

SCRIPT = (Reply("I look.", "file_read", {"path": "a.py"}), Reply("All is well."))


def ask(base_url: str, *messages: Message) -> list[ProviderEvent]:
    settings = ProviderSettings(
        backend="openai-chat-completions", base_url=base_url, api_key="any", model="a-fixed-script"
    )
    request = ModelRequest("s", "", (Message(Role.USER, (Text("go"),)), *messages), (), lambda _hash: None)
    return list(build_provider(settings).stream(request))


def said(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta)).strip()


def test_endpoint_plays_the_first_reply_with_its_call():
    with scripted_endpoint(SCRIPT) as base_url:
        events = ask(base_url)
    assert said(events) == "I look."
    assert ToolEnd("call_0", "file_read", {"path": "a.py"}) in events
    assert events[-1] == MessageEnd(StopReason.TOOL_USE)


def test_endpoint_plays_the_reply_that_the_conversation_has_come_to():
    with scripted_endpoint(SCRIPT) as base_url:
        events = ask(base_url, Message(Role.ASSISTANT, (Text("I look."),)), Message(Role.USER, (Text("ok"),)))
    assert said(events) == "All is well."
    assert events[-1] == MessageEnd(StopReason.END_TURN)


def test_demo_script_ends_with_words_alone():
    assert all(reply.tool for reply in REPLIES[:-1])
    assert not REPLIES[-1].tool

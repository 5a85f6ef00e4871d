"""What Chat Completions and Responses requests hold."""

import base64
from typing import Any

import pytest

from meka.agent.blocks import (
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    TurnContext,
)
from meka.agent.providers.base import ModelRequest, ToolSchema
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.chat_completions import ChatCompletionsWire
from meka.agent.providers.content import EMPTY
from meka.agent.providers.images import GONE, NO_VISION, ImageEncoder
from meka.agent.providers.responses import ResponsesWire
from meka.agent.providers.responses_request import ItemWriter
from tests.unit.agent.providers.samples import (
    PIXELS,
    READ_FILE,
    CountingIds,
    a_request,
    assistant,
    some_settings,
    user,
)

CHAT = "openai-chat-completions"
RESPONSES = "openai-responses"
DATA_URL = f"data:image/png;base64,{base64.b64encode(PIXELS).decode()}"
IMAGE = Image("image/png", "known")
CALL = ToolUse("c1", "read_file", {"path": "ü"})


def chat(request: ModelRequest, **changes: Any) -> dict[str, Any]:
    return dict(ChatCompletionsWire(some_settings(CHAT, **changes), CountingIds()).build(request).body)


def chat_messages(*messages: Message, **changes: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = chat(a_request(*messages), **changes)["messages"]
    return written


def responses(request: ModelRequest, **changes: Any) -> dict[str, Any]:
    return dict(ResponsesWire(some_settings(RESPONSES, **changes), CountingIds()).build(request).body)


def items(*messages: Message, **changes: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = responses(a_request(*messages), **changes)["input"]
    return written


def said(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


def asked(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts)}


def input_text(words: str) -> dict[str, Any]:
    return {"type": "input_text", "text": words}


def test_a_plain_chat_request_is_as_small_as_the_api_allows() -> None:
    assert chat(a_request()) == {
        "model": "model-1",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_chat_options_are_sent_where_they_are_set() -> None:
    body = chat(
        a_request(system="be brief", tools=[READ_FILE], stream=False),
        effort="low", max_output_tokens=9, prompt_cache_key=True,
    )  # fmt: skip

    assert body == {
        "model": "model-1",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "stream": False,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Read a file.",
                    "parameters": READ_FILE.parameters,
                },
            }
        ],
        "reasoning_effort": "low",
        "max_completion_tokens": 9,
        "prompt_cache_key": "session-1",
    }


def test_usage_is_not_asked_for_where_the_account_says_so() -> None:
    assert "stream_options" not in chat(a_request(), stream_usage=False)


def test_chat_texts_are_joined_and_images_follow_as_parts() -> None:
    assert chat_messages(user(TurnContext("context"), "words"), user("look", IMAGE, "here")) == [
        {"role": "user", "content": "context\n\nwords"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look\n\nhere"},
                {"type": "image_url", "image_url": {"url": DATA_URL}},
            ],
        },
    ]


def test_chat_results_are_tool_messages_ahead_of_the_words_beside_them() -> None:
    results = (
        ToolResult("c1", True, (Text("one"), Image("image/png", "known"), ToolReference("t"))),
        ToolResult("c2", False, ()),
    )

    assert chat_messages(assistant("ok", CALL), user("steer", *results)) == [
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path": "ü"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one\n[image: image/png]\n[tool t was loaded]"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "user", "content": "steer"},
    ]


def test_a_chat_reply_of_calls_alone_has_no_content() -> None:
    assert "content" not in chat_messages(assistant(CALL), user(ToolResult("c1", False, ())))[0]


@pytest.mark.parametrize(
    "blocks", [(), (Thinking("hm", CHAT, "sig"), RedactedThinking("data", CHAT)), (Text(" "),)]
)
def test_reasoning_is_dropped_and_an_empty_reply_has_a_placeholder(blocks: tuple[Any, ...]) -> None:
    assert chat_messages(assistant(*blocks), user("next"))[0] == {"role": "assistant", "content": EMPTY}
    assert items(assistant(*blocks), user("next"))[0] == said(EMPTY)


@pytest.mark.parametrize(
    ("image_hash", "vision", "words"), [("gone", True, GONE), ("known", False, NO_VISION)]
)
def test_an_image_that_cannot_be_sent_is_replaced(image_hash: str, vision: bool, words: str) -> None:
    message = user(Image("image/png", image_hash))

    assert chat_messages(message, vision=vision) == [{"role": "user", "content": words}]
    assert items(message, vision=vision) == [asked(input_text(words))]


@pytest.mark.parametrize("wire", [ChatCompletionsWire, ResponsesWire])
def test_names_fit_in_sixty_four_bytes_unless_the_account_says_less(wire: Any) -> None:
    tools = [ToolSchema("x" * 100, "", {})]

    for changes, limit in (({}, 64), ({"max_tool_name_bytes": 40}, 40)):
        outgoing = wire(some_settings(CHAT, **changes), CountingIds()).build(a_request(tools=tools))
        tool = outgoing.body["tools"][0]
        assert len(tool.get("function", tool)["name"]) == limit


@pytest.mark.parametrize("wire", [ChatCompletionsWire, ResponsesWire])
def test_an_account_without_a_key_sends_no_authorization(wire: Any) -> None:
    outgoing = wire(some_settings(CHAT, api_key=""), CountingIds()).build(a_request())

    assert "Authorization" not in outgoing.headers


def test_a_plain_responses_request_is_as_small_as_the_api_allows() -> None:
    assert responses(a_request()) == {
        "model": "model-1",
        "input": [asked(input_text("hello"))],
        "store": False,
        "stream": True,
    }


def test_responses_options_are_sent_where_they_are_set() -> None:
    body = responses(
        a_request(system="be brief", tools=[READ_FILE], stream=False),
        effort="low", max_output_tokens=9, prompt_cache_key=True,
    )  # fmt: skip

    assert body == {
        "model": "model-1",
        "input": [asked(input_text("hello"))],
        "instructions": "be brief",
        "store": False,
        "stream": True,
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Read a file.",
                "parameters": READ_FILE.parameters,
                "strict": False,
            }
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "max_output_tokens": 9,
        "prompt_cache_key": "session-1",
    }


def test_responses_items_keep_the_order_of_a_reply() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "ü"}'}

    assert items(assistant("a", CALL, "b")) == [said("a"), call, said("b")]


def test_responses_texts_come_before_images_in_one_message() -> None:
    image = {"type": "input_image", "image_url": DATA_URL, "detail": "auto"}

    assert items(user("a", IMAGE, "b")) == [asked(input_text("a"), input_text("b"), image)]


def test_responses_outputs_are_text_unless_an_image_is_among_them() -> None:
    image = {"type": "input_image", "image_url": DATA_URL, "detail": "auto"}
    plain = ToolResult("c1", False, (Text("one"), Text("two")))
    pictured = ToolResult("c2", True, (Text("look"), IMAGE))

    assert items(user("steer", plain, pictured)) == [
        {"type": "function_call_output", "call_id": "c1", "output": "one\ntwo"},
        {"type": "function_call_output", "call_id": "c2", "output": [input_text("look"), image]},
        asked(input_text("steer")),
    ]


SEALED = Thinking("hm", RESPONSES, "encrypted", "rs_1")


def test_sealed_reasoning_is_not_sent_to_the_plain_responses_api() -> None:
    assert items(assistant(SEALED, "a")) == [said("a")]


def test_sealed_reasoning_is_replayed_where_the_endpoint_takes_it_and_something_follows() -> None:
    writer = ItemWriter(RESPONSES, ToolNames(64), ImageEncoder(vision=True), replays_reasoning=True)
    bare = Thinking("", RESPONSES, "enc2")
    foreign = Thinking("x", "anthropic-messages", "sig")

    written = writer.items(a_request(assistant(SEALED, bare, foreign, "a", SEALED)))

    assert written == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "encrypted",
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "enc2"},
        said("a"),
    ]

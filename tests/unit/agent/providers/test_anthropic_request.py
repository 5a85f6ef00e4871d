"""What an Anthropic Messages request holds."""

import base64
import io
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image as Picture

from meka.agent.blocks import (
    BackgroundReport,
    Image,
    Inbox,
    Invocation,
    Message,
    Nudge,
    RedactedThinking,
    Resource,
    Scheduled,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    TurnContext,
)
from meka.agent.providers.anthropic import AnthropicWire
from meka.agent.providers.base import ModelRequest, ToolSchema
from meka.agent.providers.content import EMPTY
from meka.agent.providers.images import GONE, NO_VISION
from tests.unit.agent.providers.samples import (
    PIXELS,
    READ_FILE,
    CountingIds,
    a_request,
    assistant,
    some_settings,
    user,
)

BACKEND = "anthropic-messages"
SUBSCRIPTION = "claude-subscription"
CACHED = {"type": "ephemeral"}


def build(request: ModelRequest, **changes: Any) -> dict[str, Any]:
    return dict(AnthropicWire(some_settings(BACKEND, **changes), CountingIds()).build(request).body)


def contents(*messages: Message, **changes: Any) -> list[list[dict[str, Any]]]:
    """Each message's content, without the cache mark."""
    body = build(a_request(*messages), **changes)
    written = [message["content"] for message in body["messages"]]
    written[-1][-1].pop("cache_control")
    return written


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_a_plain_request_is_as_small_as_the_api_allows() -> None:
    assert build(a_request()) == {
        "model": "model-1",
        "max_tokens": 128000,
        "stream": True,
        "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": [{**text("hello"), "cache_control": CACHED}]}],
    }


def test_system_and_tools_are_sent_where_there_are_any() -> None:
    body = build(a_request(system="be brief", tools=[READ_FILE], stream=False))

    assert body["system"] == "be brief"
    assert body["stream"] is False
    assert body["tools"] == [
        {"name": "read_file", "description": "Read a file.", "input_schema": READ_FILE.parameters}
    ]


@pytest.mark.parametrize(
    ("changes", "max_tokens", "thinking"),
    [
        ({}, 128_000, {"type": "adaptive"}),
        ({"thinking": "off"}, 32_000, None),
        (
            {"thinking": "budgeted", "thinking_budget": 4000},
            32_000,
            {"type": "enabled", "budget_tokens": 4000},
        ),
        (
            {"thinking": "budgeted", "thinking_budget": 20_000},
            40_000,
            {"type": "enabled", "budget_tokens": 20_000},
        ),
        (
            {"thinking": "budgeted", "thinking_budget": 5000, "max_output_tokens": 4000},
            5001,
            {"type": "enabled", "budget_tokens": 5000},
        ),
        ({"max_output_tokens": 7}, 7, {"type": "adaptive"}),
    ],
)
def test_the_cap_follows_the_way_of_thinking(
    changes: dict[str, Any], max_tokens: int, thinking: dict[str, Any] | None
) -> None:
    body = build(a_request(), **changes)

    assert (body["max_tokens"], body.get("thinking")) == (max_tokens, thinking)


def test_a_request_that_forbids_thinking_has_none() -> None:
    wire = AnthropicWire(some_settings(BACKEND), CountingIds())
    outgoing = wire.build(a_request(thinking=False))

    assert "thinking" not in outgoing.body
    assert outgoing.body["max_tokens"] == 32_000
    assert "anthropic-beta" not in outgoing.headers


@pytest.mark.parametrize(
    ("changes", "beta"),
    [
        ({}, "interleaved-thinking-2025-05-14"),
        ({"thinking": "off"}, None),
        ({"interleaved_thinking": False}, None),
    ],
)
def test_the_headers_ask_for_interleaved_thinking_where_it_is_on(
    changes: dict[str, Any], beta: str | None
) -> None:
    headers = AnthropicWire(some_settings(BACKEND, **changes), CountingIds()).build(a_request()).headers

    assert headers.get("anthropic-beta") == beta
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-api-key"] == "the-key"


@pytest.mark.parametrize(
    ("changes", "thinking", "beta"),
    [
        ({}, {"type": "adaptive", "display": "summarized"}, "interleaved-thinking-2025-05-14"),
        (
            {"thinking_display": "updates"},
            {"type": "adaptive", "display": "updates"},
            "interleaved-thinking-2025-05-14",
        ),
        (
            {"thinking_display": "redacted"},
            {"type": "adaptive"},
            "interleaved-thinking-2025-05-14,redact-thinking-2026-02-12",
        ),
        (
            {"thinking": "budgeted", "thinking_budget": 4000},
            {"type": "enabled", "budget_tokens": 4000, "display": "summarized"},
            "interleaved-thinking-2025-05-14",
        ),
        ({"thinking_display": "redacted", "thinking": "off"}, None, None),
    ],
)
def test_a_subscription_says_how_reasoning_is_presented(
    changes: dict[str, Any], thinking: dict[str, Any] | None, beta: str | None
) -> None:
    outgoing = AnthropicWire(some_settings(SUBSCRIPTION, **changes), CountingIds()).build(a_request())

    assert outgoing.body.get("thinking") == thinking
    assert outgoing.headers.get("anthropic-beta") == beta


def test_a_request_that_forbids_thinking_asks_for_no_redaction() -> None:
    wire = AnthropicWire(some_settings(SUBSCRIPTION, thinking_display="redacted"), CountingIds())

    assert "anthropic-beta" not in wire.build(a_request(thinking=False)).headers


def test_effort_is_sent_where_it_is_set() -> None:
    assert build(a_request(), effort="high")["output_config"] == {"effort": "high"}


def test_a_subscription_keeps_prompt_and_conversation_in_the_cache_for_an_hour() -> None:
    wire = AnthropicWire(some_settings(SUBSCRIPTION), CountingIds())
    body = wire.build(replace(a_request(), system="Be brief.")).body
    kept = {"type": "ephemeral", "ttl": "1h"}
    assert body["system"] == [text("Be brief.") | {"cache_control": kept}]
    assert body["messages"][-1]["content"][-1]["cache_control"] == kept


def test_every_kind_of_text_is_a_text_block_in_order() -> None:
    blocks = (
        TurnContext("context"), Text("words"), Nudge("checklist", "nudge"), Inbox("inbox", "body"),
        Scheduled("scheduled", "j", "p"), BackgroundReport("report", ("t",)),
        Invocation("invocation", "skill", "n", "d"), Resource("resource", "file:///a", "a"), Text("  \n"),
    )  # fmt: skip

    assert contents(user(*blocks)) == [
        [text(words) for words in
         ("context", "words", "nudge", "inbox", "scheduled", "report", "invocation", "resource")]
    ]  # fmt: skip


def test_results_come_first_and_neighbours_of_one_role_are_joined() -> None:
    call = ToolUse("c1", "read_file", {"path": "a"})
    result = ToolResult("c1", True, (Text("no such file"), Text("")))

    assert contents(user("go"), assistant("ok", call), user("steer"), user("more", result)) == [
        [text("go")],
        [text("ok"), {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}}],
        [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "is_error": True,
                "content": [text("no such file")],
            },
            text("steer"),
            text("more"),
        ],
    ]


def test_reasoning_goes_back_to_its_own_backend_alone() -> None:
    mine = (
        Thinking("hm", BACKEND, "sig"),
        Thinking("unsigned", BACKEND),
        RedactedThinking("sealed", BACKEND),
        Thinking("other", "openai-responses", "enc"),
        RedactedThinking("other", "claude-subscription"),
        Text("so"),
    )

    assert contents(assistant(*mine), user("next"))[0] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "sealed"},
        text("so"),
    ]


def test_trailing_reasoning_of_the_last_reply_is_stripped() -> None:
    thought = Thinking("hm", BACKEND, "sig")

    written = contents(assistant(thought), user("a"), assistant("b", thought, thought), user("c"))

    assert written[0] == [{"type": "thinking", "thinking": "hm", "signature": "sig"}]
    assert written[2] == [text("b")]


@pytest.mark.parametrize("blocks", [(), (Thinking("hm", BACKEND, "sig"),), (Thinking("hm", "other", "s"),)])
def test_a_reply_with_nothing_left_has_a_placeholder(blocks: tuple[Thinking, ...]) -> None:
    assert contents(assistant(*blocks), user("next"))[0] == [text(EMPTY)]


def test_the_cache_mark_is_on_the_last_block_of_the_last_message() -> None:
    body = build(a_request(user("a"), assistant("b"), user("c", "d"), system="s", tools=[READ_FILE]))

    marked = [
        block for message in body["messages"] for block in message["content"] if "cache_control" in block
    ]
    assert marked == [{**text("d"), "cache_control": CACHED}]
    assert body["messages"][-1]["content"][-1] is marked[0]


def test_an_image_is_sent_as_base64() -> None:
    assert contents(user(Image("image/png", "known"))) == [
        [
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": base64.b64encode(PIXELS).decode(),
                },
            }
        ]
    ]


@pytest.mark.parametrize(
    ("image_hash", "vision", "words"), [("gone", True, GONE), ("known", False, NO_VISION)]
)
def test_an_image_that_cannot_be_sent_is_replaced_everywhere(
    image_hash: str, vision: bool, words: str
) -> None:
    image = Image("image/png", image_hash)
    call = assistant(ToolUse("c", "look", {}))

    written = contents(user(image), call, user(ToolResult("c", False, (image,))), vision=vision)

    assert written[0] == [text(words)]
    assert written[2][0]["content"] == [text(words)]


def test_a_large_image_is_scaled_down_once() -> None:
    out = io.BytesIO()
    Picture.new("CMYK", (2600, 1300)).save(out, "JPEG")
    loads: list[str] = []

    def load(image_hash: str) -> bytes:
        loads.append(image_hash)
        return out.getvalue()

    wire = AnthropicWire(some_settings(BACKEND), CountingIds())
    request = a_request(user(Image("image/jpeg", "big")), load_image=load)
    first = wire.build(request).body["messages"][0]["content"][0]["source"]
    second = wire.build(request).body["messages"][0]["content"][0]["source"]

    assert first["media_type"] == "image/png"
    with Picture.open(io.BytesIO(base64.b64decode(first["data"]))) as picture:
        assert picture.size == (2000, 1000)
    assert first == second
    assert loads == ["big"]


def test_an_image_that_fits_is_sent_unchanged() -> None:
    out = io.BytesIO()
    Picture.new("RGB", (2000, 3)).save(out, "JPEG")
    request = a_request(user(Image("image/jpeg", "x")), load_image=lambda _hash: out.getvalue())

    source = build(request)["messages"][0]["content"][0]["source"]

    assert source["media_type"] == "image/jpeg"
    assert base64.b64decode(source["data"]) == out.getvalue()


def test_a_tool_reference_is_a_text_where_the_provider_does_not_expand_it() -> None:
    result = ToolResult("c", False, (Text("found"), ToolReference("mcp_tool")))

    assert contents(assistant(ToolUse("c", "tool_load", {})), user(result))[1][0]["content"] == [
        text("found"), text("[tool mcp_tool was loaded]")
    ]  # fmt: skip


def test_long_names_are_shortened_in_tools_and_calls_alike() -> None:
    long = "mcp__" + "x" * 60
    wire = AnthropicWire(some_settings(BACKEND, max_tool_name_bytes=32), CountingIds())

    outgoing = wire.build(a_request(assistant(ToolUse("c", long, {})), tools=[ToolSchema(long, "", {})]))

    name = outgoing.body["tools"][0]["name"]
    assert len(name) == 32
    assert outgoing.body["messages"][0]["content"][0]["name"] == name
    assert outgoing.names.from_wire(name) == long


def test_ids_of_another_backend_are_made_fit_and_still_pair() -> None:
    call_id = "functions.read:0"

    written = contents(assistant(ToolUse(call_id, "read", {})), user(ToolResult(call_id, False, ())))

    assert written[0][0]["id"] == written[1][0]["tool_use_id"]
    assert written[0][0]["id"].startswith("functions_read_0_")

"""Deferred tools of an Anthropic Messages request: which wait, and what refers to them."""

from typing import Any

from meka.agent.blocks import Image, Message, Text, ToolReference, ToolResult, ToolUse
from meka.agent.providers.anthropic import AnthropicWire
from meka.agent.providers.base import ToolSchema
from tests.unit.agent.providers.samples import (
    READ_FILE,
    CountingIds,
    a_request,
    assistant,
    some_settings,
    user,
)

BETA = "advanced-tool-use-2025-11-20"
MAIL, CHAT = (ToolSchema(name, "It.", {"type": "object", "properties": {}}) for name in ("mail", "chat"))
DEFERRED = (MAIL, CHAT)


def loading(*names: str, say: str = "done") -> tuple[Message, Message]:
    """A call of `tool_load`, and its result."""
    items = (*([Text(say)] if say else []), *map(ToolReference, names))
    return assistant(ToolUse("c1", "tool_load", {"name": [*names]})), user(ToolResult("c1", False, items))


def sent(*messages: Message, expands: bool = True, **changes: Any) -> tuple[dict[str, Any], list[str]]:
    """The body, and the betas that are asked for."""
    settings = some_settings(
        "anthropic-messages", deferred_tools="native" if expands else None, thinking="off"
    )
    values = {"tools": [READ_FILE], "deferred_tools": DEFERRED, **changes}
    outgoing = AnthropicWire(settings, CountingIds()).build(a_request(*messages, **values))
    return dict(outgoing.body), outgoing.headers.get("anthropic-beta", "").split(",")


def offered(body: dict[str, Any]) -> list[tuple[str, bool]]:
    """The tools of a request, and whether each waits."""
    return [(tool["name"], tool.get("defer_loading", False)) for tool in body.get("tools", [])]


def test_deferred_tools_are_sent_to_wait() -> None:
    body, betas = sent()

    assert offered(body) == [("read_file", False), ("mail", True), ("chat", True)]
    assert body["tools"][1]["input_schema"] == MAIL.parameters
    assert betas == [BETA]


def test_the_beta_is_asked_for_beside_that_of_thinking() -> None:
    settings = some_settings("anthropic-messages", deferred_tools="native")
    request = a_request(tools=[READ_FILE], deferred_tools=DEFERRED)

    headers = AnthropicWire(settings, CountingIds()).build(request).headers

    assert headers["anthropic-beta"] == f"interleaved-thinking-2025-05-14,{BETA}"


def test_what_is_loaded_waits_on_where_a_result_refers_to_it() -> None:
    before, _ = sent()
    body, _ = sent(*loading("chat"), tools=[READ_FILE, CHAT])

    assert body["tools"] == before["tools"]
    result, beside = body["messages"][1]["content"]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "chat"}]
    assert beside["text"] == "done"


def test_what_stands_beside_references_follows_all_results_and_precedes_the_rest() -> None:
    calls = assistant(ToolUse("c1", "tool_load", {}), ToolUse("c2", "read_file", {}))
    results = user(
        ToolResult("c1", False, (Text("first"), ToolReference("mail"), ToolReference("chat"))),
        Text("a steer"),
        ToolResult("c2", False, (Text("second"),)),
    )
    body, _ = sent(calls, results, tools=[READ_FILE, MAIL, CHAT])

    content = body["messages"][1]["content"]
    assert [item["type"] for item in content] == ["tool_result", "tool_result", "text", "text"]
    assert [item["tool_name"] for item in content[0]["content"]] == ["mail", "chat"]
    assert [item["text"] for item in content[2:]] == ["first", "a steer"]


def test_what_a_compaction_left_loaded_does_not_wait() -> None:
    body, betas = sent(user("summary"), tools=[READ_FILE, CHAT])

    assert offered(body) == [("read_file", False), ("chat", False), ("mail", True)]
    assert betas == [BETA]


def test_a_reference_to_a_tool_that_is_gone_is_a_text() -> None:
    messages = loading("gone", "mail")
    body, _ = sent(*messages, tools=[READ_FILE, MAIL])

    result, *beside = body["messages"][1]["content"]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "mail"}]
    assert [item["text"] for item in beside] == ["done", "[tool gone was loaded]"]


def test_a_reference_to_a_tool_that_no_longer_waits_is_a_text() -> None:
    body, betas = sent(*loading("mail"), tools=[READ_FILE, MAIL], deferred_tools=())

    assert offered(body) == [("read_file", False), ("mail", False)]
    texts = [item["text"] for item in body["messages"][1]["content"][0]["content"]]
    assert texts == ["done", "[tool mail was loaded]"]
    assert betas == [""]


def test_a_profile_that_is_not_native_appends_the_loaded_schema() -> None:
    body, betas = sent(*loading("mail"), tools=[READ_FILE, MAIL], expands=False)

    assert offered(body) == [("read_file", False), ("mail", False)]
    assert "tool_reference" not in str(body)
    assert betas == [""]


def test_nothing_waits_where_there_is_no_tool_that_does_not() -> None:
    alone, betas = sent(tools=())
    loaded, _ = sent(*loading("mail", say=""), tools=[MAIL])

    assert "tools" not in alone
    assert betas == [""]
    assert offered(loaded) == [("mail", False)]
    assert "tool_reference" not in str(loaded)


def test_an_image_beside_a_reference_is_kept() -> None:
    call, _ = loading("mail")
    result = user(ToolResult("c1", False, (Image("image/png", "gone"), ToolReference("mail"))))
    body, _ = sent(call, result, tools=[READ_FILE, MAIL])

    assert [item["type"] for item in body["messages"][1]["content"]] == ["tool_result", "text"]


def test_long_names_are_shortened_in_waiting_tools_and_references_alike() -> None:
    long = "mcp__" + "x" * 200
    tool = ToolSchema(long, "It.", {})
    body, _ = sent(*loading(long), tools=[READ_FILE, tool], deferred_tools=[tool])

    name = body["tools"][1]["name"]
    assert len(name) == 128
    assert body["messages"][1]["content"][0]["content"][0]["tool_name"] == name
    settings = some_settings("anthropic-messages", deferred_tools="native")
    request = a_request(tools=[READ_FILE], deferred_tools=[tool])
    assert AnthropicWire(settings, CountingIds()).build(request).names.from_wire(name) == long

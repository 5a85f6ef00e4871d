"""Turns whose provider expands references: tools are found, called, remembered, told to another backend."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meka.agent.blocks import ToolReference
from meka.agent.providers.build import build_provider
from meka.agent.toolbox import loaded_tools
from meka.agent.tools.base import Tool
from meka.agent.tools.discovery import discovery_tools
from meka.agent.turn import TurnPorts
from meka.store.database import Database
from tests.fakes import FakeClock, make_context
from tests.loopback_provider import LoopbackProvider
from tests.unit.agent.providers.samples import some_settings
from tests.unit.agent.stage import FakeTool, Stage, call, echo, results, say


class NativeStage(Stage):
    """A session on a profile of the loopback; what is loaded is kept from turn to turn."""

    def __init__(self, database: Database, tmp_path: Path, upstream: LoopbackProvider) -> None:
        super().__init__(database, tmp_path)
        self.upstream = upstream
        self.loaded: tuple[str, ...] = ()
        self.backend, self.expands = "anthropic-messages", True

    def ports(self, tools: Sequence[Tool]) -> TurnPorts:
        ports = super().ports(tools)
        settings = some_settings(
            self.backend,
            base_url=self.upstream.base_url,
            deferred_tools="native" if self.expands else None,
            thinking="off",
        )

        def note_loaded(names: Sequence[str]) -> None:
            self.loaded = tuple(dict.fromkeys((*self.loaded, *names)))

        provider = build_provider(settings)
        runner = replace(
            ports.runner,
            make_context=lambda *_: make_context(
                self.tmp_path,
                tools=tools,
                active=self.loaded,
                expands_references=provider.expands_references,
            ),
        )
        return replace(
            ports,
            provider=provider,
            runner=runner,
            loaded_tools=lambda: self.loaded,
            note_loaded=note_loaded,
        )

    def play(self, *rounds: Any, tools: Sequence[Tool], turn: str) -> list[dict[str, Any]]:
        """A turn's requests."""
        self.upstream.add(*rounds)
        before = len(self.upstream.requests)
        assert self.run((), tools, turn=turn).error is None
        return [each.body for each in self.upstream.requests[before:]]


TOOLS: tuple[Tool, ...] = (
    *discovery_tools(),
    FakeTool("mcp_mail_send", echo, description="Send mail.", deferred=True),
    FakeTool("mcp_chat_post", echo, description="Post a message.", deferred=True),
)
FIRST, SECOND = (f"00000000-0000-4000-8000-0000000000{digits}" for digits in ("a1", "a2"))


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    with LoopbackProvider() as upstream, Database.open(tmp_path / "s.db", clock=FakeClock()) as database:
        yield NativeStage(database, tmp_path, upstream)


def waiting(body: dict[str, Any]) -> dict[str, bool]:
    return {tool["name"]: tool.get("defer_loading", False) for tool in body["tools"]}


ALL_WAIT = {"tool_load": False, "tool_search": False, "mcp_mail_send": True, "mcp_chat_post": True}


def test_search_makes_its_hits_callable_by_reference(stage: NativeStage) -> None:
    requests = stage.play(
        call(("c1", "tool_search", {"query": "mail"})),
        call(("c2", "mcp_mail_send", {"text": "hi"})),
        say("sent"),
        tools=TOOLS,
        turn=FIRST,
    )

    assert [waiting(body) for body in requests] == [ALL_WAIT] * 3
    assert requests[1]["messages"][2]["content"][0]["content"] == [
        {"type": "tool_reference", "tool_name": "mcp_mail_send"}
    ]
    searched, sent = results(stage)
    assert searched.content[1:] == (ToolReference("mcp_mail_send"),)
    assert "(loaded; " in str(searched.content[0])
    assert "heard hi" in str(sent.content)
    assert stage.loaded == loaded_tools(stage.stored().messages) == ("mcp_mail_send",)
    completed = stage.payloads("tool_call.completed")[0]
    assert completed["content"][1] == {"type": "tool_reference", "tool_name": "mcp_mail_send"}


def test_load_gives_the_reference_in_the_place_of_the_schema(stage: NativeStage) -> None:
    names = ["mcp_chat_post", "tool_search", "nothing"]
    stage.play(call(("c1", "tool_load", {"name": names})), say("ok"), tools=TOOLS, turn=FIRST)

    (result,) = results(stage)
    assert result.content[1:] == (ToolReference("mcp_chat_post"),)
    words = str(result.content[0])
    assert "mcp_chat_post is loaded" in words
    assert "There is no tool named 'nothing'" in words
    assert "Schema" not in words


@pytest.mark.parametrize(
    ("backend", "expands"),
    [("anthropic-messages", False), ("openai-chat-completions", True), ("openai-responses", True)],
)
def test_another_backend_is_told_in_words_and_gets_the_loaded_schema(
    stage: NativeStage, backend: str, expands: bool
) -> None:
    stage.play(call(("c1", "tool_search", {"query": "mail"})), say("ok"), tools=TOOLS, turn=FIRST)
    stage.backend, stage.expands = backend, expands

    (body,) = stage.play(say("ok"), tools=TOOLS, turn=SECOND)

    named = [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
    assert named == ["tool_load", "tool_search", "mcp_mail_send"]
    assert "defer_loading" not in str(body)
    assert "tool_reference" not in str(body)
    assert "[tool mcp_mail_send was loaded]" in str(body)


def test_search_elsewhere_loads_nothing(stage: NativeStage) -> None:
    stage.expands = False
    stage.play(call(("c1", "tool_search", {"query": "mail"})), say("ok"), tools=TOOLS, turn=FIRST)

    assert stage.loaded == loaded_tools(stage.stored().messages) == ()
    assert len(results(stage)[0].content) == 1


def test_tool_that_is_gone_is_not_referred_to(stage: NativeStage) -> None:
    stage.play(call(("c1", "tool_search", {"query": "mail"})), say("ok"), tools=TOOLS, turn=FIRST)

    left = [tool for tool in TOOLS if tool.name != "mcp_mail_send"]
    (body,) = stage.play(say("ok"), tools=left, turn=SECOND)

    assert waiting(body) == {"tool_load": False, "tool_search": False, "mcp_chat_post": True}
    assert "tool_reference" not in str(body)


def test_loaded_tool_stands_by_itself_once_its_reference_is_compacted_away(stage: NativeStage) -> None:
    stage.play(call(("c1", "tool_search", {"query": "mail"})), say("ok"), tools=TOOLS, turn=FIRST)
    conversation = stage.conversation
    summary = conversation.entries[0].message.content
    conversation.replace(summary, (), {"generation": 1}, checklist={}, loaded_tools=stage.loaded)

    (body,) = stage.play(say("ok"), tools=TOOLS, turn=SECOND)

    assert waiting(body) == ALL_WAIT | {"mcp_mail_send": False}
    assert [tool["name"] for tool in body["tools"]][2] == "mcp_mail_send"
    assert "tool_reference" not in str(body)

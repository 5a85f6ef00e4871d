"""Compaction as turns meet it: what sets it going, what it leaves behind, what it carries over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gevent
import pytest

from meka.agent.blocks import Message, Text, ToolUse
from meka.agent.providers.base import ModelRequest
from meka.agent.providers.scripted import Round, ScriptedProvider
from meka.base.errors import ContextOverflowError, TurnCanceledError
from meka.bootstrap import load_installation, open_core
from meka.composition import Core
from meka.config.options import RunOptions
from meka.service.checklists import checklist_of
from meka.service.runtime import SessionRuntime
from tests.fakes import FakeClock
from tests.unit.agent.stage import call, say

CONFIG = """
default_profile = "main"

[accounts.upstream]
backend = "anthropic-messages"

[profiles.main]
account = "upstream"
model = "claude-test"
context_window = 100000
"""
PLENTY, LITTLE = 90_000, 10_000
HANDED_OVER = call(("r1", "context_replace", {"summary": "All went well."}))


def using(tokens: int, *events: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A round whose request and reply took so many tokens."""
    return [{"type": "usage", "input_tokens": tokens}, *events]


class House:
    """A program with a scripted model, and one session in it."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root = root
        self.stack = stack
        self.clock = FakeClock()
        self.provider = ScriptedProvider()
        self.events: list[tuple[str, Mapping[str, Any]]] = []

    def open(self, **session: str) -> "House":
        (self.root / "config").mkdir(exist_ok=True)
        lines = [f"{name} = {value}" for name, value in session.items()]
        text = "\n".join([CONFIG, "[session]", *lines])
        (self.root / "config" / "config.toml").write_text(text)
        environ = {
            "MEKA_CONFIG_DIR": str(self.root / "config"),
            "MEKA_DATA_DIR": str(self.root / "data"),
        }
        reader, loaded = load_installation(RunOptions(environ), serving=False)
        opened = open_core(reader, loaded, clock=self.clock, provider=self.provider)
        self.core: Core = self.stack.enter_context(opened)
        self.session_id = str(
            self.core.services.sessions.create({"working_directory": str(self.root)}, None)["id"]
        )
        self.watch()
        return self

    def watch(self) -> None:
        self.runtime: SessionRuntime = self.core.registry.load(self.session_id)
        self.runtime.feed.observers.append(lambda name, payload: self.events.append((name, payload)))

    def turn(self, *rounds: Round, message: str = "go on") -> dict[str, Any]:
        self.provider.add(*rounds)
        return self.core.turns.submit(self.session_id, {"message": message}).answer()

    def reload(self) -> None:
        self.core.registry.unload(self.runtime)
        self.watch()

    def told(self, name: str) -> list[Mapping[str, Any]]:
        return [payload for each, payload in self.events if each == name]

    @property
    def requests(self) -> Sequence[ModelRequest]:
        return list(self.provider.requests)

    @property
    def summary(self) -> str:
        """The text of the summary that the view begins with."""
        return texts(self.runtime.conversation.messages[0])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with ExitStack() as stack:
        yield House(tmp_path, stack)


def texts(message: Message) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, Text))


def sent(request: ModelRequest) -> str:
    return "\n".join(texts(message) for message in request.messages)


def test_measured_occupancy_past_the_ceiling_is_compacted_before_the_next_request(house: House) -> None:
    house.open()
    house.turn(using(PLENTY, *say("first answer")), message="first question")
    house.turn(HANDED_OVER, using(LITTLE, *say("second answer")), message="second question")
    (compacted,) = house.told("context.compacted")
    assert (compacted["trigger"], compacted["source"]) == ("reactive", "checkpoint")
    assert (compacted["replaced_count"], compacted["generation"]) == (3, 1)
    assert compacted["turn_id"] == house.told("turn.finished")[-1]["turn_id"]
    assert "All went well." in house.summary
    assert "> first question" in house.summary
    last = house.requests[-1]
    assert texts(last.messages[-1]) == "second question"
    assert "first answer" not in sent(last)
    assert "second question" not in sent(house.requests[-2])
    assert house.runtime.context_tokens == LITTLE


def test_projected_request_past_the_ceiling_is_compacted_before_it_is_sent(house: House) -> None:
    house.open()
    house.turn(using(60_000, *say("ok")))
    house.turn(HANDED_OVER, say("ok"), message="x" * 120_000)
    assert [each["trigger"] for each in house.told("context.compacted")] == ["proactive"]
    assert texts(house.requests[-1].messages[-1]) == "x" * 120_000


def test_ceiling_is_looked_at_after_each_round_of_calls(house: House) -> None:
    house.open()
    house.turn(say("hello"))
    rounds = [using(PLENTY, *call(("c1", "checklist_read", {}))), HANDED_OVER, say("done")]
    house.turn(*rounds, message="count the files")
    assert [each["trigger"] for each in house.told("context.compacted")] == ["reactive"]
    assert "The request you are working on:\n\n> count the files" in house.summary
    content = house.runtime.conversation.messages[0].content
    assert [block.type for block in content] == ["text", "turn_context", "text"]
    assert "[Available tools]" in content[1].text  # type: ignore[union-attr]


def test_failed_compaction_is_told_once_a_crossing_and_the_turn_goes_on(house: House) -> None:
    house.open()
    house.turn(using(PLENTY, *say("ok")))
    fails = [{"type": "fail", "message": "no"}]
    answer = house.turn(
        fails, fails, using(PLENTY, *call(("c1", "checklist_read", {}))), using(PLENTY, *say("done"))
    )
    assert answer["stop_reason"] == "end_turn"
    (failed,) = house.told("context.compaction_failed")
    assert (failed["interrupted"], failed["error"]["status"]) == (False, 502)
    assert house.runtime.conversation.generation == 0


def test_automatic_compaction_can_be_switched_off(house: House) -> None:
    house.open(auto_compact="false")
    house.turn(using(PLENTY, *say("ok")))
    house.turn(using(PLENTY, *say("ok")))
    with pytest.raises(ContextOverflowError):
        house.turn([{"type": "fail_context_overflow"}])
    house.turn(call(("c1", "context_compact", {})), HANDED_OVER, say("ok"))
    assert [each["trigger"] for each in house.told("context.compacting")] == ["requested"]


def test_agent_has_its_conversation_compacted_after_the_round_and_once_a_turn(house: House) -> None:
    house.open()
    house.turn(say("hello"))
    twice = call(
        ("c1", "context_compact", {"instructions": "Keep the colour."}), ("c2", "context_compact", {})
    )
    house.turn(twice, HANDED_OVER, call(("c3", "context_compact", {})), say("done"))
    assert [each["trigger"] for each in house.told("context.compacted")] == ["requested"]
    assert [each["is_error"] for each in house.told("tool_call.completed")] == [False, True, False, True]
    assert "Keep the colour." in texts(house.requests[2].messages[-1])


@pytest.mark.parametrize(
    ("request_says", "handover_says", "kept"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_word_of_the_summary_goes_before_the_requests(
    house: House, request_says: bool | None, handover_says: bool | None, kept: bool
) -> None:
    house.open()
    for _ in range(3):
        house.turn(say("hello"))
    said = {} if handover_says is None else {"keep_recent": handover_says}
    house.provider.add(call(("r1", "context_replace", {"summary": "S", **said})))
    answer = house.core.services.compactions.compact(house.session_id, {"keep_recent": request_says})
    assert answer["kept_recent"] is kept
    assert answer["messages_after"] == (3 if kept else 1)


def test_overflow_is_answered_by_one_emergency_compaction_and_one_retry(house: House) -> None:
    house.open()
    house.turn(say("hello"))
    overflow = [{"type": "fail_context_overflow"}]
    answer = house.turn(overflow, say("The summary."), say("there"), message="are you there")
    assert answer["messages"][-1]["content"][0]["text"] == "there"
    (compacted,) = house.told("context.compacted")
    assert (compacted["trigger"], compacted["source"]) == ("emergency", "summarizer")
    summarizer = house.requests[2]
    assert (summarizer.tools, summarizer.thinking) == ((), False)
    house.turn(say("hello"))
    with pytest.raises(ContextOverflowError):
        house.turn(overflow, say("The summary."), overflow)
    assert len(house.told("context.compacted")) == 2


def test_overflow_of_a_first_message_has_nothing_to_compact(house: House) -> None:
    house.open()
    with pytest.raises(ContextOverflowError):
        house.turn([{"type": "fail_context_overflow"}])
    assert house.told("context.compacting") == []


def test_turn_that_is_too_old_is_let_go_at_the_next_opening(house: House) -> None:
    house.open(turn_retention='"1h"')
    house.turn(say("old answer"), message="an old secret")
    house.clock.advance(1800)
    house.turn(say("young answer"), message="a young question")
    house.clock.advance(1801)
    house.turn(HANDED_OVER, say("ok"))
    (compacted,) = house.told("context.compacted")
    assert compacted["trigger"] == "retention"
    assert "an old secret" not in sent(house.requests[-1])
    assert "> a young question" in house.summary
    house.turn(say("ok"))
    assert len(house.told("context.compacting")) == 1


def test_checkpoint_has_few_tools_eight_requests_and_says_nothing(house: House) -> None:
    house.open()
    house.turn(using(PLENTY, *say("ok")))
    busy = [[{"type": "text", "text": "Saving."}, *call((f"s{n}", "scratchpad_list", {}))] for n in range(8)]
    house.turn(*busy, say("By the summarizer."), say("done"))
    (compacted,) = house.told("context.compacted")
    assert compacted["source"] == "summarizer"
    names = {tool.name for tool in house.requests[1].tools}
    assert {"context_replace", "file_read", "scratchpad_write"} <= names
    assert not {"shell_execute", "file_write", "web_fetch", "context_compact"} & names
    assert "Saving." not in [each["text"] for each in house.told("assistant_text.delta")]
    assert len(house.requests) == 1 + 8 + 1 + 1


def test_checkpoint_can_be_switched_off(house: House) -> None:
    house.open(compact_checkpoint="false")
    house.turn(using(PLENTY, *say("ok")))
    house.turn(say("A summary."), say("done"))
    assert house.told("context.compacted")[0]["source"] == "summarizer"


def test_results_at_a_checkpoint_are_cut_instead_of_spilled(house: House) -> None:
    house.open()
    (house.root / "big.txt").write_text("line of text\n" * 2_000)
    (house.root / "big2.txt").write_text("y" * 29_000 + "\n" + "z" * 20_000)
    house.turn(using(PLENTY, *say("ok")))
    house.turn(call(("f1", "file_read", {"path": "big2.txt"})), HANDED_OVER, say("done"))
    shown = house.requests[2].messages[-1].content[0].content[0].text  # type: ignore[union-attr]
    assert len(shown.encode()) <= 30_000
    assert "large-output" not in shown


def test_open_checklist_survives_verbatim_and_is_not_counted_twice(house: House) -> None:
    house.open()
    house.turn(say("hello"))
    house.turn(say("hello"))
    items = {"items": ["paint the fence", "feed the cat"]}
    defers = {"status": "deferred", "reason": "waits on the rain"}
    house.turn(
        call(("c1", "checklist_add", items)),
        call(("c2", "checklist_edit", {"id": 1, **defers}), ("c3", "checklist_edit", {"id": 2, **defers})),
        say("done"),
    )
    before = checklist_of(house.runtime)
    house.provider.add(HANDED_OVER)
    assert house.core.services.compactions.compact(house.session_id, {})["kept_recent"] is True
    assert "- 1 (deferred: waits on the rain): paint the fence" in house.summary
    assert checklist_of(house.runtime) == before
    house.reload()
    assert checklist_of(house.runtime) == before
    house.turn(call(("c4", "checklist_edit", {"id": 1, "status": "completed"})), say("done"))
    assert [item.id for item in checklist_of(house.runtime).items] == [2]


def test_world_and_read_files_are_told_again(house: House) -> None:
    house.open()
    (house.root / "a.txt").write_text("one\n")
    house.turn(call(("f1", "file_read", {"path": "a.txt"})), say("ok"))
    assert house.runtime.reads.seen
    house.provider.add(HANDED_OVER)
    house.core.services.compactions.compact(house.session_id, {"keep_recent": False})
    assert not house.runtime.reads.seen
    house.turn(say("ok"))
    assert "[Available tools]" in house.runtime.conversation.messages[1].content[0].text  # type: ignore[union-attr]
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    house.turn(call(("e1", "file_edit", edit)), say("ok"))
    assert house.told("tool_call.completed")[-1]["is_error"] is True


def test_reload_finds_what_was_compacted(house: House) -> None:
    house.open()
    for generation in (1, 2):
        house.turn(say("hello"))
        house.provider.add(HANDED_OVER)
        house.core.services.compactions.compact(house.session_id, {})
        assert house.runtime.conversation.generation == generation
    shown = house.core.services.sessions.history(house.session_id, None, None).body
    house.reload()
    assert house.core.services.sessions.history(house.session_id, None, None).body == shown
    assert house.runtime.conversation.generation == 2
    assert house.runtime.context_tokens == 0


def test_cancel_during_a_turns_compaction_ends_the_turn(house: House) -> None:
    house.open()
    house.turn(using(PLENTY, *say("ok")))
    stop: list[Callable[[], object] | Mapping[str, Any]] = [
        lambda: house.core.turns.cancel(house.session_id, None),
        lambda: gevent.sleep(30),
    ]
    with pytest.raises(TurnCanceledError):
        house.turn(stop)
    (failed,) = house.told("context.compaction_failed")
    assert failed["interrupted"] is True
    assert house.runtime.conversation.total == 3


def test_spending_of_a_compaction_is_the_turns(house: House) -> None:
    house.open()
    house.turn(using(PLENTY, *say("ok")))
    answer = house.turn(using(700, *HANDED_OVER), using(30, *say("ok")))
    assert answer["usage"]["input_tokens"] == 730


def test_context_check_tells_how_full_the_window_is(house: House) -> None:
    house.open()
    house.turn(using(LITTLE, *say("ok")))
    house.turn(using(LITTLE, *call(("c1", "context_check", {}))), say("done"))
    shown = house.told("tool_call.completed")[0]["content"][0]["text"]
    assert "Used: 10000 of 100000 tokens (10%)" in shown
    assert "Headroom below the ceiling: 75000 tokens" in shown
    assert "Compactions so far: 0" in shown


def test_kept_messages_still_pair_calls_and_results(house: House) -> None:
    house.open()
    for _ in range(3):
        house.turn(call(("c1", "checklist_read", {})), say("ok"))
    house.provider.add(HANDED_OVER)
    house.core.services.compactions.compact(house.session_id, {})
    house.turn(say("ok"))
    for before, after in zip(house.requests[-1].messages, house.requests[-1].messages[1:], strict=False):
        made = [block.id for block in before.content if isinstance(block, ToolUse)]
        assert made == [block.tool_use_id for block in after.content if block.type == "tool_result"]  # type: ignore[union-attr]


def test_tools_loaded_before_a_compaction_are_in_force_after_a_rewind(house: House) -> None:
    house.open()
    house.turn(call(("c1", "tool_load", {"name": "file_read"})), say("loaded"))
    house.turn(say("ok"))
    house.reload()
    assert house.runtime.loaded_tools == ("file_read",)
    house.provider.add(HANDED_OVER)
    house.core.services.compactions.compact(house.session_id, {"keep_recent": False})
    house.turn(say("ok"))
    house.core.services.histories.rewind(house.session_id, 1, lambda *_state: True)
    assert house.runtime.loaded_tools == ("file_read",)

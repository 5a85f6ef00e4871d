"""One turn over a scripted model and a real store: rounds, calls, endings, what a cut leaves behind."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from meka.agent.blocks import Nudge, Role, Text, ToolResult
from meka.agent.cancel import Cancel
from meka.agent.conversation import Conversation
from meka.agent.loop import terminal_of
from meka.agent.providers.base import StopReason
from meka.agent.providers.scripted import Round
from meka.agent.runner import INTERRUPTED
from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.turn import Status
from meka.base.levels import Level
from meka.store import turns
from meka.store.database import Database
from tests.fakes import FakeClock
from tests.unit.agent.stage import SESSION, TURN, FakeTool, HurriedCancel, Stage, call, echo, results, say


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Database.open(tmp_path / "meka.db", clock=FakeClock()) as database:
        yield Stage(database, tmp_path)


def test_turn_ends_with_the_reply_stored_and_the_row_closed(stage: Stage) -> None:
    usage = {"type": "usage", "input_tokens": 7, "output_tokens": 2}
    ending = stage.run([[usage, *say("hello")]])
    assert (ending.status, ending.stop_reason) == (Status.SUCCEEDED, StopReason.END_TURN)
    assert [m.role for m in stage.stored().messages] == [Role.USER, Role.ASSISTANT]
    assert stage.names() == ["turn.started", "message.appended", "assistant_text.delta"]
    row = stage.database.read(lambda tx: turns.get(tx, SESSION, TURN))
    assert row is not None
    assert (row.status, row.stop_reason, row.usage.input_tokens) == ("succeeded", "end_turn", 7)
    assert terminal_of(ending)[0] == "turn.finished"


def test_calls_run_at_once_and_are_answered_in_call_order(stage: Stage) -> None:
    second_ran = Event()

    def first(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        assert second_ran.wait(5), "the second call never ran beside the first"
        return ToolOutcome("first")

    def second(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        second_ran.set()
        return ToolOutcome("second")

    tools = [FakeTool("a", first), FakeTool("b", second)]
    stage.run([call(("1", "a", {}), ("2", "b", {})), say("done")], tools)
    assert [item.tool_use_id for item in results(stage)] == ["1", "2"]
    assert [item["id"] for item in stage.payloads("tool_call.completed")] == ["1", "2"]


def test_serial_calls_run_one_after_the_other_in_source_order(stage: Stage) -> None:
    trace: list[str] = []

    def work(arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        trace.append(f"in {arguments['text']}")
        gevent.sleep(0)
        trace.append(f"out {arguments['text']}")
        return ToolOutcome("ok")

    tool = FakeTool("s", work, serial=True)
    stage.run([call(("1", "s", {"text": "x"}), ("2", "s", {"text": "y"})), say("done")], [tool])
    assert trace == ["in x", "out x", "in y", "out y"]


def test_assistant_message_is_stored_before_its_tools_run(stage: Stage) -> None:
    seen: list[int] = []

    def look(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        seen.append(stage.stored().total)
        return ToolOutcome("ok")

    stage.run([call(("1", "look", {})), say("done")], [FakeTool("look", look)])
    assert seen == [2]


def test_call_above_the_level_is_refused_and_says_what_it_needs(stage: Stage) -> None:
    stage.run([call(("1", "w", {})), say("ok")], [FakeTool("w", echo, level=Level.WORKSPACE)])
    (result,) = results(stage)
    assert result.is_error
    assert "'workspace'" in result.content[0].text
    assert "'read'" in result.content[0].text
    assert stage.notices == []


def test_call_above_the_level_is_refused_with_a_notice_when_nobody_can_approve(stage: Stage) -> None:
    stage.approvals = True
    stage.run([call(("1", "w", {})), say("ok")], [FakeTool("w", echo, level=Level.WORKSPACE)])
    assert results(stage)[0].is_error
    assert [level for level, _ in stage.notices] == ["warn"]
    assert "attend=true" in stage.notices[0][1]


def test_level_is_read_at_each_call(stage: Stage) -> None:
    stage.level = Level.WORKSPACE

    def lower(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        stage.level = Level.READ
        return ToolOutcome("lowered")

    tools = [FakeTool("lower", lower, level=Level.WORKSPACE)]
    stage.run([call(("1", "lower", {})), call(("2", "lower", {})), say("ok")], tools)
    assert [item.is_error for item in results(stage)] == [False, True]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (call(("1", "nope", {})), "no tool named 'nope'"),
        (call(("1", "t", {"text": 3})), "invalid arguments at text"),
        (call(("1", "t", {"scratchpad": 3})), "'scratchpad'"),
        ([{"type": "tool_rejected", "id": "1", "name": "t", "reason": "line 1"}], "no JSON object"),
    ],
)
def test_call_that_cannot_run_has_an_error_result(
    stage: Stage, made: list[dict[str, Any]], sentence: str
) -> None:
    ending = stage.run([made, say("ok")], [FakeTool("t", echo)])
    (result,) = results(stage)
    assert result.is_error
    assert sentence in result.content[0].text
    assert ending.status is Status.SUCCEEDED


def test_tool_error_and_crash_are_results_and_the_turn_goes_on(stage: Stage) -> None:
    def refuse(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        raise ToolError("no such file")

    def crash(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        raise RuntimeError("secret detail")

    tools = [FakeTool("refuse", refuse), FakeTool("crash", crash)]
    ending = stage.run([call(("1", "refuse", {}), ("2", "crash", {})), say("ok")], tools)
    texts = [item.content[0].text for item in results(stage)]
    assert texts[0] == "Tool error: no such file"
    assert "secret" not in texts[1]
    assert ending.status is Status.SUCCEEDED


def test_undeclared_arguments_are_ignored_and_told_of_once(stage: Stage) -> None:
    rounds = [call(("1", "t", {"text": "a", "odd": 1})), call(("2", "t", {"text": "b", "odd": 1})), say("ok")]
    stage.run(rounds, [FakeTool("t", echo)])
    first, second = (item.content[0].text for item in results(stage))
    assert first.startswith("heard a\n[meka harness]")
    assert second == "heard b"


def test_large_result_spills_and_the_feed_has_all_of_it(stage: Stage) -> None:
    big = "x" * 40_000
    stage.run([call(("call_abc123", "t", {})), say("ok")], [FakeTool("t", lambda _a, _c: ToolOutcome(big))])
    kept = results(stage)[0].content[0].text
    assert '<large-output name="t_abc123_1" size="40000">' in kept
    assert len(kept) < 3_000
    entry = stage.scratchpad.get("t_abc123_1")
    assert entry is not None
    assert entry.content == big
    assert stage.payloads("tool_call.completed")[0]["content"][0]["text"] == big


def test_scratchpad_parameter_keeps_the_result_under_its_name(stage: Stage) -> None:
    stage.run([call(("1", "t", {"text": "a", "scratchpad": "kept"})), say("ok")], [FakeTool("t", echo)])
    entry = stage.scratchpad.get("kept")
    assert entry is not None
    assert entry.content == "heard a"
    assert "'kept' (7 bytes)" in results(stage)[0].content[0].text


def test_cancel_in_a_tool_call_leaves_one_interrupted_result_and_a_usable_session(stage: Stage) -> None:
    stopped = Event()

    def hang(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        stage.cancel.request("client")
        try:
            gevent.sleep(60)
        finally:
            stopped.set()
        return ToolOutcome("never")

    tools = [FakeTool("hang", hang), FakeTool("quick", echo)]
    ending = stage.run([call(("1", "hang", {}), ("2", "quick", {"text": "b"}))], tools)
    assert (ending.status, ending.reason) == (Status.CANCELED, "client")
    assert stopped.is_set()
    assert [item.tool_use_id for item in results(stage)] == ["1", "2"]
    assert results(stage)[0].content[0].text == INTERRUPTED
    stage.cancel = Cancel()
    again = stage.run([say("fine")], tools, turn=TURN[:-1] + "b")
    assert again.status is Status.SUCCEEDED
    sent = stage.provider.requests[-1].messages
    calls = [use.id for message in sent for use in message.calls]
    answered = [b.tool_use_id for m in sent for b in m.content if isinstance(b, ToolResult)]
    assert calls == answered


def test_cancel_while_the_model_writes_keeps_the_text_that_came(stage: Stage) -> None:
    rounds: list[Round] = [
        [
            {"type": "text", "text": "half"},
            lambda: stage.cancel.request("client"),
            {"type": "sleep", "ms": 60000},
        ]
    ]
    ending = stage.run(rounds)
    assert ending.status is Status.CANCELED
    assert stage.stored().messages[-1].text == "half"
    assert terminal_of(ending)[1]["message_withdrawn"] is False


def test_crash_between_calls_and_results_is_closed_at_the_next_opening(stage: Stage) -> None:
    stage.run([call(("1", "t", {})), say("ok")], [FakeTool("t", echo)])
    cut = stage.conversation.entries[:2]
    stage.conversation.withdraw(stage.conversation.entries[2:])
    stage.conversation = Conversation(stage.database, SESSION, cut, stage.conversation.revision)
    stage.run([say("again")], turn=TURN[:-1] + "b")
    sent = stage.provider.requests[-1].messages
    assert [type(b) for b in sent[2].content] == [ToolResult]
    assert sent[3].content[-1] == Text("go")


def test_provider_that_always_cuts_the_stream_fails_in_bounded_attempts(stage: Stage) -> None:
    stage.cancel = HurriedCancel()
    ending = stage.run([[{"type": "fail_stream", "message": "cut"}]] * 10)
    assert ending.status is Status.FAILED
    assert ending.error is not None
    assert ending.error.slug == "provider-unavailable"
    assert len(stage.provider.requests) == 3


def test_failure_after_visible_text_is_not_retried_and_keeps_the_text(stage: Stage) -> None:
    ending = stage.run(
        [[{"type": "text", "text": "so "}, {"type": "fail_stream", "message": "cut"}], say("no")]
    )
    assert ending.status is Status.FAILED
    assert len(stage.provider.requests) == 1
    assert stage.stored().messages[-1].text == "so "


def test_refused_credential_is_logged_with_what_mends_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    ending = stage.run([[{"type": "fail_credential"}]])
    assert ending.error is not None
    assert ending.error.detail == "the model provider refused the credential"
    assert "`meka account login` stores another" in caplog.text


def test_failed_attempt_leaves_nothing_of_itself_in_the_reply(stage: Stage) -> None:
    stage.cancel = HurriedCancel()
    lost = [
        {"type": "usage", "input_tokens": 5},
        {"type": "thinking_delta", "text": "lost"},
        {"type": "fail_stream"},
    ]
    ending = stage.run([lost, [{"type": "usage", "input_tokens": 6}, *say("kept")]])
    assert [b.type for b in stage.stored().messages[-1].content] == ["text"]
    assert ending.usage.input_tokens == 11


def test_provider_text_is_relayed_cut_and_never_in_the_detail(stage: Stage) -> None:
    ending = stage.run([[{"type": "fail", "message": "é" * 5000}]])
    assert ending.error is not None
    relayed = str(ending.error.members["provider_response"])
    assert len(relayed.encode()) <= 4096
    assert relayed.endswith("[cut]")
    assert "é" not in ending.error.detail


def test_unanswered_message_is_taken_back_when_it_is_to_be_withdrawn(stage: Stage) -> None:
    ending = stage.run([[{"type": "fail", "message": "no"}]], withdraws=True)
    assert ending.message_withdrawn is True
    assert stage.stored().total == 0
    assert ending.revision == 1
    assert terminal_of(ending)[1]["message_withdrawn"] is True


def test_answered_message_stays_although_it_was_to_be_withdrawn(stage: Stage) -> None:
    rounds = [call(("1", "t", {})), [{"type": "fail", "message": "no"}]]
    ending = stage.run(rounds, [FakeTool("t", echo)], withdraws=True)
    assert ending.message_withdrawn is False
    assert stage.stored().total == 3


def test_silent_reply_is_asked_once_for_words_and_then_stands_in(stage: Stage) -> None:
    ending = stage.run([[], []])
    assert ending.status is Status.SUCCEEDED
    assert len(stage.provider.requests) == 2
    nudges = [b for m in stage.stored().messages for b in m.content if isinstance(b, Nudge)]
    assert [nudge.kind for nudge in nudges] == ["visible_reply"]
    assert stage.payloads("turn.nudged")[0]["kind"] == "visible_reply"
    assert stage.stored().messages[-1].text.startswith("[")


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
def test_stop_reasons_end_the_turn_without_a_nudge(stage: Stage, stop: str) -> None:
    ending = stage.run([[{"type": "message_end", "stop_reason": stop, "refusal_text": "I will not"}]])
    assert ending.stop_reason is not None
    assert ending.stop_reason.value == stop
    assert len(stage.provider.requests) == 1
    assert ("refusal_text" in terminal_of(ending)[1]) == (stop == "refusal")


def test_abandoned_turn_ends_at_a_round_boundary(stage: Stage) -> None:
    def leave(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        stage.abandoned = True
        return ToolOutcome("done all the same")

    ending = stage.run([call(("1", "leave", {})), say("never")], [FakeTool("leave", leave)])
    assert (ending.status, ending.reason) == (Status.CANCELED, "abandoned")
    assert not results(stage)[0].is_error


def test_duplicate_call_ids_are_told_apart(stage: Stage) -> None:
    rounds = [call(("x", "t", {"text": "a"}), ("x", "t", {"text": "b"})), say("ok")]
    stage.run(rounds, [FakeTool("t", echo)])
    assert [item.tool_use_id for item in results(stage)] == ["x", "x_2"]
    assert [item.content[0].text for item in results(stage)] == ["heard a", "heard b"]

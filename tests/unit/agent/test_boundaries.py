"""Where a turn lets letters in, and what becomes of them when that goes wrong."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from gevent.event import Event

from meka.agent.blocks import BackgroundReport, Block, Inbox
from meka.agent.mail import Letters, Moment
from meka.agent.providers.scripted import Round
from meka.agent.tools.base import ToolContext, ToolOutcome
from meka.agent.turn import Status
from meka.base.errors import StoreUnavailableError
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.messages import LogRow
from tests.fakes import FakeClock
from tests.unit.agent.stage import FakeTool, Stage, call, echo, say

ITEM = Inbox("[Message arrived]\nhi", "hi", "item", "steer")
REPORT = BackgroundReport("[A background task has ended]", ("task",))


class FakeMail:
    """Letters by moment, each taken once. `asked` are the moments at which the turn looked."""

    def __init__(self, **waiting: Sequence[Block]) -> None:
        self.interrupt = Event()
        self.waiting = {Moment(name): tuple(blocks) for name, blocks in waiting.items()}
        self.asked: list[Moment] = []
        self.log: list[str] = []
        self.fault: Exception | None = None

    def take(self, moment: Moment) -> Letters | None:
        self.interrupt.clear()
        self.asked.append(moment)
        blocks = self.waiting.pop(moment, ())
        if not blocks:
            return None

        def drop() -> None:
            self.log.append("dropped")
            self.waiting[moment] = blocks

        return Letters(blocks, self._unit, "cut", lambda: self.log.append("kept"), drop)

    def _unit(self, _tx: Tx, _rows: Sequence[LogRow]) -> None:
        if self.fault is not None:
            raise self.fault

    def accepted(self) -> None:
        self.log.append("accepted")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Database.open(tmp_path / "meka.db", clock=FakeClock()) as database:
        yield Stage(database, tmp_path)


def kinds(stage: Stage) -> list[list[str]]:
    return [[block.type for block in message.content] for message in stage.stored().messages]


def run(stage: Stage, mail: FakeMail, rounds: Sequence[Round], **options: Any) -> Status:
    stage.mail = mail
    return stage.run(rounds, [FakeTool("t", echo)], **options).status


def test_letters_are_kept_once_their_write_is_durable_and_read_when_a_request_is_accepted(
    stage: Stage,
) -> None:
    mail = FakeMail(tools=[ITEM])
    run(stage, mail, [call(("1", "t", {})), say("ok")])
    assert kinds(stage) == [["turn_context", "text"], ["tool_use"], ["tool_result", "inbox"], ["text"]]
    assert mail.log == ["accepted", "kept", "accepted"]
    assert mail.asked == [Moment.LATE, Moment.TOOLS, Moment.REPLY]


def test_letters_are_dropped_when_their_write_fails(stage: Stage) -> None:
    mail = FakeMail(reply=[ITEM])
    mail.fault = StoreUnavailableError()
    assert run(stage, mail, [say("ok"), say("never")]) is Status.FAILED
    assert mail.log == ["accepted", "dropped"]
    assert kinds(stage) == [["turn_context", "text"]]


def test_what_lands_while_the_opening_is_written_rides_it(stage: Stage) -> None:
    mail = FakeMail(late=[ITEM])
    run(stage, mail, [say("ok")])
    assert kinds(stage) == [["turn_context", "text", "inbox"], ["text"]]
    (announced,) = stage.payloads("message.appended")
    assert [block["type"] for block in announced["message"]["content"]] == ["turn_context", "text", "inbox"]
    assert len(stage.provider.requests) == 1


def test_reports_in_results_are_announced(stage: Stage) -> None:
    run(stage, FakeMail(tools=[REPORT, ITEM]), [call(("1", "t", {})), say("ok")])
    assert stage.payloads("task.reported") == [{"text": REPORT.text, "task_ids": ["task"]}]


def test_canceled_turn_leaves_what_waits_to_the_next(stage: Stage) -> None:
    mail = FakeMail(tools=[ITEM])

    def cancel(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        stage.cancel.request("client")
        return ToolOutcome("done")

    stage.mail = mail
    ending = stage.run([call(("1", "c", {})), say("never")], [FakeTool("c", cancel)])
    assert ending.status is Status.CANCELED
    assert Moment.TOOLS not in mail.asked
    assert mail.log == ["accepted"]


def test_interrupt_that_was_withdrawn_cuts_nothing(stage: Stage) -> None:
    mail = FakeMail()
    rounds: list[Round] = [
        [{"type": "text", "text": "all "}, mail.interrupt.set, {"type": "sleep", "ms": 20}, *say("of it")]
    ]
    run(stage, mail, rounds)
    assert Moment.CUT in mail.asked
    assert [m.text for m in stage.stored().messages][-1] == "all of it"
    assert stage.notices == []


def test_interrupt_keeps_the_text_that_came_and_drops_calls(stage: Stage) -> None:
    mail = FakeMail(cut=[ITEM])
    first: Round = [
        {"type": "text", "text": "half"},
        {"type": "tool_use_start", "id": "1", "name": "t"},
        {"type": "tool_use_end", "id": "1", "name": "t", "input": {}},
        mail.interrupt.set,
        {"type": "sleep", "ms": 60_000},
    ]
    run(stage, mail, [first, say("instead")])
    assert kinds(stage) == [["turn_context", "text"], ["text"], ["inbox"], ["text"]]
    names = stage.names()
    assert stage.notices == [("info", "cut")]
    assert names.count("message.appended") == 2
    assert "tool_call.completed" not in names


def test_interrupt_after_tools_joins_their_results(stage: Stage) -> None:
    mail = FakeMail(cut=[ITEM])
    rounds: list[Round] = [
        call(("1", "t", {})),
        [mail.interrupt.set, {"type": "sleep", "ms": 60_000}],
        say("ok"),
    ]
    run(stage, mail, rounds)
    assert kinds(stage) == [["turn_context", "text"], ["tool_use"], ["tool_result", "inbox"], ["text"]]
    assert stage.conversation.revision == 1
    assert stage.names().count("message.appended") == 1


def test_taken_back_opening_takes_what_joined_it_along(stage: Stage) -> None:
    mail = FakeMail(cut=[ITEM])
    rounds: list[Round] = [[mail.interrupt.set, {"type": "sleep", "ms": 60_000}], [{"type": "fail"}]]
    stage.mail = mail
    ending = stage.run(rounds, withdraws=True)
    assert ending.message_withdrawn is True
    assert kinds(stage) == []


def test_outcome_that_rode_a_taken_back_opening_stays(stage: Stage) -> None:
    mail = FakeMail(late=[REPORT, ITEM])
    stage.mail = mail
    ending = stage.run([[{"type": "fail"}]], withdraws=True)
    assert ending.message_withdrawn is True
    assert kinds(stage) == [["background_report"]]


def test_refusal_ends_the_turn_whatever_waits_and_the_token_limit_does_not(stage: Stage) -> None:
    mail = FakeMail(reply=[ITEM])
    run(stage, mail, [say("no", stop_reason="refusal")])
    assert Moment.REPLY not in mail.asked
    again = FakeMail(reply=[ITEM])
    stage.mail = again
    stage.run([say("cut", stop_reason="max_tokens"), say("ok")], turn="00000000-0000-4000-8000-0000000000bb")
    assert kinds(stage)[-2:] == [["inbox"], ["text"]]


def test_end_that_cannot_be_stored_is_announced_all_the_same(stage: Stage) -> None:
    def fail(_tx: Tx, _ending: object) -> None:
        raise StoreUnavailableError

    stage.mail = FakeMail()
    rounds: list[Round] = [[lambda: setattr(stage.turn, "on_end", fail), {"type": "fail"}]]
    ending = stage.run(rounds, withdraws=True)
    assert (ending.status, ending.message_withdrawn) == (Status.FAILED, False)
    assert kinds(stage) == [["turn_context", "text"]]


def test_call_that_notices_the_cancel_itself_reads_as_interrupted(stage: Stage) -> None:
    def check(_arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        stage.cancel.request("client")
        stage.cancel.check()
        return ToolOutcome("never")

    stage.run([call(("1", "c", {})), say("never")], [FakeTool("c", check)])
    (result,) = [
        block
        for message in stage.stored().messages
        for block in message.content
        if block.type == "tool_result"
    ]
    assert "interrupted" in result.content[0].text

"""Calls that go on beside the turn, as the runner starts them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gevent
import pytest

from meka.agent.blocks import Text
from meka.agent.cancel import Cancel
from meka.agent.permission import Gate, Verdict
from meka.agent.runner import Call, CallRunner, Finished
from meka.agent.toolbox import Toolbox
from meka.agent.tools.base import ToolContext, ToolOutcome
from meka.base.levels import Level
from tests.fakes import FakeScratchpad, make_context
from tests.unit.agent.stage import FakeTool, echo


class Starter:
    """Keeps what it was asked to start."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str | None]] = []

    def __call__(
        self, call: Call, _label: str | None, _work: Callable[[Cancel], ToolOutcome], entry: str | None, /
    ) -> ToolOutcome:
        self.started.append((call.id, entry))
        return ToolOutcome("started")


@pytest.fixture
def scratchpad() -> FakeScratchpad:
    return FakeScratchpad()


@pytest.fixture
def starter() -> Starter:
    return Starter()


Run = Callable[[Mapping[str, Any]], Finished]


@pytest.fixture
def run(tmp_path: Path, scratchpad: FakeScratchpad, starter: Starter) -> Run:
    runner = CallRunner(
        toolbox=Toolbox([FakeTool("say", echo)], background=True),
        gate=Gate(lambda: Level.READ, lambda: False, lambda _q: Verdict.NOBODY, lambda _level, _text: None),
        emit=lambda _name, _payload: None,
        cancel=Cancel(),
        scratchpad=scratchpad,
        make_context=lambda *_: make_context(tmp_path),
        put_image=lambda _image: pytest.fail("there is none"),
        start_background=starter,
    )
    return lambda given: runner.run([Call("c1", "say", given)])[0]


def test_call_beside_the_turn_says_where_its_result_is_to_be_kept(
    run: Run, starter: Starter, scratchpad: FakeScratchpad
) -> None:
    finished = run({"text": "hi", "background": True, "scratchpad": "mine"})

    assert finished.result.content == (Text("started"),)
    assert starter.started == [("c1", "mine")]
    assert scratchpad.entries() == ()


def test_call_beside_the_turn_is_refused_for_an_inherited_entry(
    run: Run, starter: Starter, scratchpad: FakeScratchpad
) -> None:
    scratchpad.inherit("theirs", "text")

    finished = run({"text": "hi", "background": True, "scratchpad": "theirs"})

    assert finished.result.is_error
    assert "inherited" in str(finished.result.content)
    assert starter.started == []


def test_call_that_is_told_to_be_interrupted_does_nothing_afterwards(tmp_path: Path) -> None:
    cancel, done = Cancel(), list[str]()

    def linger(arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        cancel.wait(10)
        for _ in range(5):
            gevent.sleep(0)
        done.append(arguments["text"])
        return ToolOutcome("done")

    runner = CallRunner(
        toolbox=Toolbox([FakeTool("linger", linger)]),
        gate=Gate(lambda: Level.READ, lambda: False, lambda _q: Verdict.NOBODY, lambda _level, _text: None),
        emit=lambda _name, _payload: None,
        cancel=cancel,
        scratchpad=FakeScratchpad(),
        make_context=lambda *_: make_context(tmp_path),
        put_image=lambda _image: pytest.fail("there is none"),
    )
    calls = [Call(f"c{number}", "linger", {"text": f"c{number}"}) for number in range(20)]
    gevent.spawn(cancel.request, "client")

    finished = runner.run(calls)

    assert [each.result.tool_use_id for each in finished if not each.result.is_error] == done


def test_name_of_an_entry_is_told_in_one_line(run: Run, scratchpad: FakeScratchpad) -> None:
    finished = run({"text": "hi", "scratchpad": "a\nb"})
    assert finished.result.content == (Text("The result is in the scratchpad as 'a b' (8 bytes)."),)
    assert [entry.name for entry in scratchpad.entries()] == ["a\nb"]

"""Histories that a provider refuses: what is left out, tier by tier, and what is kept of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from meka.agent.blocks import Image, Message, Role, Text, ToolResult, ToolUse
from meka.agent.providers.base import Cause, ModelRequest, ProviderError
from meka.agent.repair import MEDIA_NOTE, is_repairable, sendable
from meka.agent.tools.base import ImageData, ToolContext, ToolOutcome
from meka.agent.turn import Status
from meka.store.database import Database
from tests.fakes import FakeClock
from tests.unit.agent.stage import FakeTool, HurriedCancel, Stage, call, echo, say

REFUSED: list[dict[str, Any]] = [{"type": "fail_invalid_request", "message": "bad history"}]
FAULT: list[dict[str, Any]] = [{"type": "fail_retryable", "message": "oops"}]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Database.open(tmp_path / "meka.db", clock=FakeClock()) as database:
        stage = Stage(database, tmp_path)
        stage.cancel = HurriedCancel()
        yield stage


def look(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
    return ToolOutcome("a picture", images=(ImageData("image/png", b"png"),))


LOOK = FakeTool("look", look)
TELL = FakeTool("tell", echo)


def shown(request: ModelRequest) -> list[Any]:
    return [block for message in request.messages for block in message.content]


def image_count(request: ModelRequest) -> int:
    results = [block for block in shown(request) if isinstance(block, ToolResult)]
    return sum(isinstance(item, Image) for result in results for item in result.content)


def test_refused_images_become_notes_once_the_provider_accepts_that(stage: Stage) -> None:
    ending = stage.run([call(("1", "look", {})), REFUSED, say("done")], [LOOK])
    assert ending.status is Status.SUCCEEDED
    assert [image_count(request) for request in stage.provider.requests] == [0, 1, 0]
    (result,) = [
        block for m in stage.stored().messages for block in m.content if isinstance(block, ToolResult)
    ]
    assert (result.is_error, result.content) == (True, (Text("a picture"), Text(MEDIA_NOTE)))
    assert (ending.revision, stage.conversation.revision) == (1, 1)
    assert stage.conversation.messages == stage.stored().messages
    assert [level for level, _ in stage.notices] == ["warn"]
    assert "images and attachments" in stage.notices[0][1]


def test_refused_calls_lose_their_arguments_to_a_failed_result(stage: Stage) -> None:
    ending = stage.run([call(("1", "tell", {"text": "hush"})), REFUSED, say("done")], [TELL])
    assert ending.status is Status.SUCCEEDED
    blocks = shown(stage.provider.requests[-1])
    (use,) = [block for block in blocks if isinstance(block, ToolUse)]
    (result,) = [block for block in blocks if isinstance(block, ToolResult)]
    assert (use.input, result.is_error) == ({}, True)
    assert "'text': 'hush'" in result.content[0].text  # type: ignore[union-attr]
    assert "heard" not in str(blocks)
    assert "tool calls" in stage.notices[0][1]


def test_first_tier_is_undone_before_the_second_is_tried(stage: Stage) -> None:
    stage.run([call(("1", "look", {})), REFUSED, REFUSED, say("done")], [LOOK])
    first, second = list(stage.provider.requests)[-2:]
    assert MEDIA_NOTE in str(shown(first))
    assert MEDIA_NOTE not in str(shown(second))
    assert stage.conversation.revision == 1


def test_what_is_refused_in_every_form_stays_as_it_was(stage: Stage) -> None:
    ending = stage.run([call(("1", "look", {})), REFUSED, REFUSED, REFUSED], [LOOK])
    assert ending.status is Status.FAILED
    assert stage.conversation.revision == 0
    assert MEDIA_NOTE not in str(stage.stored().messages)
    assert stage.notices == []


def test_only_what_was_added_since_the_last_accepted_request_is_touched(stage: Stage) -> None:
    rounds = [call(("1", "look", {})), call(("2", "tell", {"text": "x"})), REFUSED, say("done")]
    stage.run(rounds, [LOOK, TELL])
    last = stage.provider.requests[-1]
    assert image_count(last) == 1
    assert [block.input for block in shown(last) if isinstance(block, ToolUse)] == [{}, {}]
    assert "heard x" not in str(shown(last))
    assert "a picture" in str(shown(last))


def test_words_alone_are_not_repaired(stage: Stage) -> None:
    ending = stage.run([REFUSED])
    assert ending.status is Status.FAILED
    assert len(stage.provider.requests) == 1


def test_server_that_breaks_on_a_history_gets_another_one(stage: Stage) -> None:
    ending = stage.run([call(("1", "look", {})), *[FAULT] * 4, say("done")], [LOOK])
    assert ending.status is Status.SUCCEEDED
    assert [image_count(request) for request in stage.provider.requests] == [0, 1, 1, 1, 1, 0]


def test_reply_that_was_cut_after_a_repair_keeps_the_repair(stage: Stage) -> None:
    cut = [{"type": "text", "text": "I see"}, {"type": "fail_stream"}]
    ending = stage.run([call(("1", "look", {})), REFUSED, cut], [LOOK])
    assert ending.status is Status.FAILED
    assert stage.conversation.revision == 1
    assert stage.stored().messages[-1].text == "I see"


@pytest.mark.parametrize(
    ("cause", "status", "expected"),
    [
        (Cause.MALFORMED, 400, True),
        (Cause.TOO_LARGE, None, True),
        (Cause.TRANSIENT, 503, True),
        (Cause.TRANSIENT, 429, False),
        (Cause.TRANSIENT, None, False),
        (Cause.QUOTA, 402, False),
        (Cause.CREDENTIAL, 401, False),
        (Cause.OTHER, None, False),
    ],
)
def test_repair_is_for_what_the_history_may_have_caused(
    cause: Cause, status: int | None, expected: bool
) -> None:
    assert is_repairable(ProviderError(cause, "no", status=status)) is expected


def test_results_that_answer_no_call_are_not_sent() -> None:
    asked = Message(Role.USER, (Text("go"),))
    calls = Message(Role.ASSISTANT, (ToolUse("1", "tell", {}),))
    answer = ToolResult("1", False, (Text("ok"),))
    stray = ToolResult("2", False, (Text("whose?"),))
    assert sendable([asked, calls, Message(Role.USER, (answer, stray))]) == [
        asked,
        calls,
        Message(Role.USER, (answer,)),
    ]
    assert sendable([asked, Message(Role.USER, (stray,)), calls]) == [asked, calls]

"""The scripted provider plays what its file says, a round an attempt."""

import json
from pathlib import Path

import gevent
import pytest
from gevent.event import Event

from meka.agent.blocks import Message, Role, Text
from meka.agent.providers.base import (
    Accepted,
    Cause,
    MessageEnd,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    ProviderNotice,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.providers.scripted import ScriptedProvider, ScriptError


def a_request(*, stream: bool = True, words: str = "hello") -> ModelRequest:
    messages = [Message(Role.USER, (Text(words),))]
    return ModelRequest("session", "", messages, (), lambda _hash: None, stream=stream)


CALL = {"type": "tool_use_start", "id": "c1", "name": "read_file"}
CALL_END = {"type": "tool_use_end", "id": "c1", "input": {"path": "a"}}


def play(provider: ScriptedProvider, *, stream: bool = True) -> list[ProviderEvent]:
    return list(provider.stream(a_request(stream=stream)))


def test_a_round_is_played_in_order_with_the_name_of_a_call_taken_from_its_start() -> None:
    provider = ScriptedProvider(
        [[{"type": "thinking_delta", "text": "hm"}, {"type": "thinking_complete", "opaque": "sig"},
          {"type": "thinking_progress", "estimated_tokens": 4}, {"type": "text", "text": "a"}, CALL, CALL_END,
          {"type": "usage", "input_tokens": 3, "output_tokens": 2}, {"type": "notice", "message": "n"}]]
    )  # fmt: skip

    assert play(provider) == [
        Accepted(),
        ThinkingDelta("hm"),
        ThinkingComplete("sig"),
        TextDelta("a"),
        ToolStart("c1", "read_file"),
        ToolEnd("c1", "read_file", {"path": "a"}),
        UsageReport(Usage(3, 2)),
        ProviderNotice("info", "n"),
        MessageEnd(StopReason.TOOL_USE),
    ]


def test_a_whole_request_folds_the_round_and_keeps_the_order_of_its_blocks() -> None:
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    provider = ScriptedProvider([[*texts, CALL, CALL_END, *texts]])

    assert play(provider, stream=False) == [
        Accepted(),
        TextDelta("ab"),
        ToolEnd("c1", "read_file", {"path": "a"}),
        TextDelta("ab"),
        MessageEnd(StopReason.TOOL_USE),
    ]


def test_nothing_after_message_end_is_played() -> None:
    provider = ScriptedProvider(
        [[{"type": "message_end", "stop_reason": "refusal"}, {"type": "text", "text": "late"}]]
    )

    assert play(provider) == [Accepted(), MessageEnd(StopReason.REFUSAL)]


def test_every_attempt_consumes_a_round_and_a_spent_script_answers_with_an_empty_message() -> None:
    provider = ScriptedProvider([[{"type": "fail_retryable", "retry_after_secs": None}]])

    with pytest.raises(ProviderError):
        play(provider)
    assert play(provider) == [Accepted(), MessageEnd(StopReason.END_TURN)]
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("kind", "cause", "status"),
    [
        ("fail", Cause.OTHER, None),
        ("fail_retryable", Cause.TRANSIENT, 503),
        ("fail_invalid_request", Cause.MALFORMED, 400),
        ("fail_context_overflow", Cause.OVERFLOW, 413),
        ("fail_quota", Cause.QUOTA, 402),
        ("fail_credential", Cause.CREDENTIAL, 401),
        ("fail_too_large", Cause.TOO_LARGE, None),
    ],
)
def test_a_refusal_is_raised_before_the_request_counts_as_accepted(
    kind: str, cause: Cause, status: int | None
) -> None:
    script = [{"type": kind, "message": "upstream words", "retry_after_secs": 7}]

    with pytest.raises(ProviderError) as caught:
        next(iter(ScriptedProvider([script]).stream(a_request())))

    assert (caught.value.cause, caught.value.status, caught.value.retry_after) == (cause, status, 7)
    assert caught.value.upstream == "upstream words"
    assert "upstream words" not in str(caught.value)


def test_a_cut_stream_fails_after_what_came_before_it() -> None:
    events = ScriptedProvider([[{"type": "text", "text": "half"}, {"type": "fail_stream"}]]).stream(
        a_request()
    )

    assert [next(events), next(events)] == [Accepted(), TextDelta("half")]
    with pytest.raises(ProviderError) as caught:
        next(events)
    assert (caught.value.cause, caught.value.status) == (Cause.TRANSIENT, None)


def test_the_request_is_recorded_as_it_was_when_it_was_sent() -> None:
    messages = [Message(Role.USER, (Text("first"),))]
    provider = ScriptedProvider()
    list(provider.stream(ModelRequest("s", "", messages, (), lambda _hash: None)))
    messages.append(Message(Role.ASSISTANT, (Text("second"),)))

    assert [message.text for message in provider.requests[0].messages] == ["first"]


def test_a_round_may_be_a_function_of_the_request_and_hold_functions() -> None:
    seen: list[str] = []
    provider = ScriptedProvider()
    provider.add(
        lambda request: [lambda: seen.append("gate"), {"type": "text", "text": request.messages[0].text}]
    )

    assert play(provider)[1] == TextDelta("hello")
    assert seen == ["gate"]


def read_in_greenlet(provider: ScriptedProvider) -> gevent.Greenlet:
    reader = gevent.spawn(play, provider)
    gevent.idle()
    return reader


def test_a_sleep_ends_when_its_reader_is_killed() -> None:
    reader = read_in_greenlet(ScriptedProvider([[{"type": "sleep", "ms": 3_600_000}]]))

    reader.kill(timeout=5)

    assert reader.dead


def test_a_stall_outlives_the_kill_of_its_reader_and_then_ends_it() -> None:
    over, ended = Event(), []
    provider = ScriptedProvider(
        [[{"type": "stall", "ms": 10}, lambda: ended.append("went on")]], sleep=lambda _seconds: over.wait(30)
    )
    reader = read_in_greenlet(provider)

    reader.kill(block=False)
    gevent.idle()
    alive_after_kill = not reader.dead
    over.set()
    reader.join(timeout=5)

    assert alive_after_kill
    assert reader.dead
    assert ended == []


def test_a_file_is_played_as_the_rounds_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([[{"type": "text", "text": "from file"}]]))

    provider = ScriptedProvider.from_file(path)

    assert provider.rounds_left == 1
    assert play(provider)[1] == TextDelta("from file")
    assert ScriptedProvider.from_file(None).rounds_left == 0


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "{}",
        '["text"]',
        '[[{"type": "nonsense"}]]',
        '[[{"type": "text"}]]',
        '[[{"type": "message_end", "stop_reason": "done"}]]',
    ],
)
def test_a_file_that_cannot_be_played_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)

    with pytest.raises(ScriptError):
        ScriptedProvider.from_file(path)

"""Payloads in, events out: what the decoders make of each protocol's odd ends."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from meka.agent.providers.anthropic_reply import AnthropicDecoder
from meka.agent.providers.base import (
    Cause,
    MessageEnd,
    ProviderError,
    ProviderEvent,
    RedactedThinkingPart,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolEnd,
    ToolRejected,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.chat_reply import ChatDecoder
from meka.agent.providers.decoder import DONE, Frame, Payload, read_payload
from meka.agent.providers.responses_reply import ResponsesDecoder
from meka.agent.providers.wire import ReplyDecoder
from tests.unit.agent.providers.samples import CountingIds

Body = dict[str, Any]


def run(decoder: ReplyDecoder, bodies: Iterable[Body | Payload]) -> list[ProviderEvent]:
    events: list[ProviderEvent] = []
    for body in bodies:
        payload = body if isinstance(body, Payload) else read_payload(Frame("", json.dumps(body)))
        assert payload is not None
        events.extend(decoder.feed(payload))
    return [*events, *decoder.end()]


def anthropic(*bodies: Body) -> list[ProviderEvent]:
    return run(AnthropicDecoder(ToolNames(128), CountingIds()), bodies)


def chat(*bodies: Body | Payload) -> list[ProviderEvent]:
    return run(ChatDecoder(ToolNames(64), CountingIds()), bodies)


def responses(*bodies: Body) -> list[ProviderEvent]:
    return run(ResponsesDecoder(ToolNames(64), CountingIds()), bodies)


def start(index: int, **block: Any) -> Body:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> Body:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> Body:
    return {"type": "content_block_stop", "index": index}


def message_delta(reason: str | None, **usage: int) -> Body:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def test_anthropic_blocks_may_interleave_and_are_told_apart_by_index() -> None:
    events = anthropic(
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 2}}},
        {"type": "ping"},
        start(0, type="thinking", thinking="", signature="si"),
        start(1, type="tool_use", id="c1", name="t", input={}),
        delta(0, "thinking_delta", thinking="hm", estimated_tokens=3),
        delta(1, "input_json_delta", partial_json='{"a"'),
        delta(0, "signature_delta", signature="g"),
        delta(1, "input_json_delta", partial_json=": 1}"),
        delta(0, "thinking_delta", thinking=""),
        stop(1),
        stop(0),
        start(2, type="redacted_thinking", data="sealed"),
        stop(2),
        start(3, type="text", text="first "),
        delta(3, "text_delta", text="then"),
        delta(3, "citations_delta", citation={}),
        stop(3),
        {"type": "something_new"},
        message_delta("tool_use", output_tokens=9),
        {"type": "message_stop"},
    )

    assert events == [
        UsageReport(Usage(5, 0, 0, 2)),
        ToolStart("c1", "t"),
        ThinkingDelta("hm"),
        ToolEnd("c1", "t", {"a": 1}),
        ThinkingComplete("sig"),
        RedactedThinkingPart("sealed"),
        TextDelta("first "),
        TextDelta("then"),
        UsageReport(Usage(0, 9)),
        MessageEnd(StopReason.TOOL_USE),
    ]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", StopReason.END_TURN),
        ("tool_use", StopReason.TOOL_USE),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("refusal", StopReason.REFUSAL),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("pause_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("never heard of", StopReason.END_TURN),
    ],
)
def test_anthropic_stop_reasons(reason: str, expected: StopReason) -> None:
    assert anthropic(message_delta(reason))[-1] == MessageEnd(expected)


def test_an_anthropic_call_that_was_cut_by_the_cap_is_rejected() -> None:
    events = anthropic(
        start(0, type="tool_use", id="c1", name="t", input={}),
        delta(0, "input_json_delta", partial_json='{"a": "b'),
        message_delta("max_tokens"),
    )

    assert [type(event) for event in events] == [ToolStart, UsageReport, ToolRejected, MessageEnd]
    assert events[-1] == MessageEnd(StopReason.MAX_TOKENS)


def test_an_anthropic_call_whose_input_came_at_its_start_has_it() -> None:
    events = anthropic(
        start(0, type="tool_use", id="", name="t", input={"a": 1}), stop(0), message_delta("tool_use")
    )

    assert events[1] == ToolEnd("toolu_1", "t", {"a": 1})


def test_a_null_stop_reason_is_none() -> None:
    with pytest.raises(ProviderError) as caught:
        anthropic(message_delta(None))

    assert caught.value.cause is Cause.TRANSIENT


def test_a_whole_anthropic_reply_without_a_stop_reason_ended() -> None:
    decoder = AnthropicDecoder(ToolNames(128), CountingIds())

    assert list(decoder.whole({"content": [{"type": "text", "text": "a"}, {"type": "new"}, 7]})) == [
        TextDelta("a"),
        MessageEnd(StopReason.END_TURN),
    ]


@pytest.mark.parametrize(
    "body", [{"type": "error", "error": {"type": "overloaded_error"}}, {"error": "busy"}]
)
@pytest.mark.parametrize("kind", [AnthropicDecoder, ChatDecoder, ResponsesDecoder])
def test_an_error_in_the_place_of_a_whole_reply_is_raised(kind: Any, body: Body) -> None:
    with pytest.raises(ProviderError) as caught:
        list(kind(ToolNames(64), CountingIds()).whole(body))

    assert caught.value.upstream == json.dumps(body["error"])


def chunk(finish: str | None = None, **fields: Any) -> Body:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def fragment(index: int | None, **fields: Any) -> Body:
    return chunk(tool_calls=[{"index": index, **fields}])


def test_chat_calls_are_gathered_by_index_alone() -> None:
    events = chat(
        fragment(1, id="b", function={"name": "two", "arguments": ""}),
        fragment(0, function={"arguments": '{"x"'}),
        fragment(1, id="ignored", function={"name": "ignored", "arguments": "{}"}),
        fragment(0, id="a", name="one", arguments=": 1}"),
        chunk("tool_calls"),
    )

    assert events == [
        ToolStart("a", "one"),
        ToolEnd("a", "one", {"x": 1}),
        ToolStart("b", "two"),
        ToolEnd("b", "two", {}),
        MessageEnd(StopReason.TOOL_USE),
    ]


def test_chat_calls_without_ids_or_with_one_twice_get_their_own() -> None:
    events = chat(
        fragment(0, function={"name": "t", "arguments": {"already": "parsed"}}),
        fragment(1, id="same", function={"name": "t"}),
        fragment(2, id="same", function={"name": "t"}),
        chunk("tool_calls"),
    )

    ids = [event.id for event in events if isinstance(event, ToolEnd)]
    assert ids == ["call_1", "same", "call_2"]
    assert events[1] == ToolEnd("call_1", "t", {"already": "parsed"})


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", StopReason.END_TURN),
        ("length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.REFUSAL),
        ("tool_calls", StopReason.TOOL_USE),
        ("never heard of", StopReason.END_TURN),
    ],
)
def test_chat_finish_reasons(reason: str, expected: StopReason) -> None:
    assert chat(chunk(reason))[-1] == MessageEnd(expected)


def test_a_finish_reason_beside_a_delta_loses_neither() -> None:
    assert chat(chunk("stop", content="last")) == [TextDelta("last"), MessageEnd(StopReason.END_TURN)]


@pytest.mark.parametrize("reason", ["stop", None])
def test_calls_make_a_tool_round_whatever_a_plain_end_says(reason: str | None) -> None:
    events = chat(fragment(0, id="a", function={"name": "t"}), chunk(reason), Payload(DONE, {}))

    assert events[-1] == MessageEnd(StopReason.TOOL_USE)


def test_the_end_mark_without_a_reason_is_an_end() -> None:
    assert chat(chunk(content="a"), Payload(DONE, {}))[-1] == MessageEnd(StopReason.END_TURN)


def test_chat_usage_follows_the_finish_reason_and_its_tiers_add_up() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 7}}

    events = chat(chunk("stop"), {"choices": [], "usage": usage}, {"choices": [], "usage": None})

    assert events[0] == UsageReport(Usage(3, 4, 0, 7))


def test_chat_reasoning_ends_where_words_begin() -> None:
    assert chat(chunk(reasoning="a"), chunk(reasoning_content="b"), chunk(content="c"), chunk("stop")) == [
        ThinkingDelta("a"),
        ThinkingDelta("b"),
        ThinkingComplete(),
        TextDelta("c"),
        MessageEnd(StopReason.END_TURN),
    ]


def test_a_chat_refusal_is_gathered() -> None:
    events = chat(chunk(refusal="I "), chunk(refusal="won't"), chunk("stop"))

    assert events == [MessageEnd(StopReason.REFUSAL, "I won't")]


def test_a_chat_error_chunk_fails_at_once_and_a_null_one_is_harmless() -> None:
    assert chat({"error": None, **chunk("stop")})[-1] == MessageEnd(StopReason.END_TURN)
    with pytest.raises(ProviderError) as caught:
        chat({"error": {"code": 502, "message": "bad gateway"}})
    assert caught.value.cause is Cause.TRANSIENT


def test_chat_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert chat(chunk("stop", content=parts))[0] == TextDelta("ab")


def item(kind: str, index: int, **fields: Any) -> Body:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}


COMPLETED: Body = {"type": "response.completed", "response": {"status": "completed"}}


def test_responses_calls_are_streamed_and_their_final_arguments_preferred() -> None:
    events = responses(
        {"type": "response.created", "response": {}},
        item("added", 0, type="function_call", call_id="a", name="one", arguments=""),
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"x": 1'},
        item("done", 0, type="function_call", call_id="a", name="one", arguments='{"x": 2}'),
        item("added", 1, type="function_call", call_id="b", name="two", arguments=""),
        {"type": "response.custom_tool_call_input.delta", "output_index": 1, "delta": '{"y": 1}'},
        item("done", 1, type="function_call", call_id="b", name="two", arguments=""),
        item("done", 2, type="function_call", call_id="c", name="three", arguments=""),
        COMPLETED,
    )

    assert events == [
        ToolStart("a", "one"),
        ToolEnd("a", "one", {"x": 2}),
        ToolStart("b", "two"),
        ToolEnd("b", "two", {"y": 1}),
        ToolStart("c", "three"),
        ToolEnd("c", "three", {}),
        MessageEnd(StopReason.TOOL_USE),
    ]


def test_responses_items_without_a_place_are_joined_by_their_id() -> None:
    events = responses(
        {"type": "response.output_item.added",
         "item": {"id": "fc", "type": "function_call", "call_id": "a", "name": "t"}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": '{"x": 1}'},
        COMPLETED,
    )  # fmt: skip

    assert ToolEnd("a", "t", {"x": 1}) in events


def test_responses_reasoning_parts_are_set_apart_and_sealed() -> None:
    events = responses(
        {"type": "response.reasoning_summary_part.added"},
        {"type": "response.reasoning_summary_text.delta", "delta": "a"},
        {"type": "response.reasoning_summary_part.added"},
        {"type": "response.reasoning_text.delta", "delta": "b"},
        item("done", 0, type="reasoning", id="rs_1", encrypted_content="enc"),
        item("done", 1, type="reasoning", id="rs_2"),
        {"type": "response.output_text.delta", "delta": "c"},
        {"type": "response.output_text.done", "text": "c"},
        COMPLETED,
    )

    assert events == [
        ThinkingDelta("a"),
        ThinkingDelta("\n\n"),
        ThinkingDelta("b"),
        ThinkingComplete("enc", "rs_1"),
        TextDelta("c"),
        MessageEnd(StopReason.END_TURN),
    ]


def test_responses_usage_adds_up() -> None:
    usage = {"input_tokens": 10, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 7}}

    assert responses({"type": "response.completed", "response": {"usage": usage}})[0] == UsageReport(
        Usage(3, 4, 0, 7)
    )


def test_an_incomplete_response_is_cut_by_its_cap_or_failed() -> None:
    def incomplete(reason: str) -> Body:
        return {"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}}

    assert responses(incomplete("max_output_tokens"))[-1] == MessageEnd(StopReason.MAX_TOKENS)
    with pytest.raises(ProviderError) as caught:
        responses(incomplete("content_filter"))
    assert caught.value.cause is Cause.OTHER


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ({"type": "response.failed", "response": {"error": {"code": "server_error"}}}, Cause.TRANSIENT),
        (
            {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}},
            Cause.TRANSIENT,
        ),
        (
            {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded"}}},
            Cause.OVERFLOW,
        ),
        ({"type": "response.failed", "response": {}}, Cause.OTHER),
        ({"type": "error", "code": "overloaded", "message": "busy"}, Cause.TRANSIENT),
        ({"type": "error", "code": "529", "message": "busy"}, Cause.TRANSIENT),
        ({"type": "error", "error": {"type": "invalid_request_error"}}, Cause.OTHER),
        ({"type": "error", "code": 400}, Cause.OTHER),
        ({"type": "error", "code": 429}, Cause.TRANSIENT),
    ],
)
def test_errors_of_a_responses_stream(body: Body, cause: Cause) -> None:
    with pytest.raises(ProviderError) as caught:
        responses(body)

    assert (caught.value.cause, caught.value.status) == (cause, None)


def test_a_responses_refusal_is_gathered_whichever_event_has_it() -> None:
    pieces = [{"type": "response.refusal.delta", "delta": text} for text in ("I ", "won't")]
    done = {"type": "response.refusal.done", "refusal": "I won't"}

    for bodies in ([*pieces, COMPLETED], [*pieces, done, COMPLETED], [done, COMPLETED]):
        assert responses(*bodies) == [MessageEnd(StopReason.REFUSAL, "I won't")]


@pytest.mark.parametrize("kind", [AnthropicDecoder, ChatDecoder, ResponsesDecoder])
def test_names_are_mapped_back(kind: Any) -> None:
    long = "x" * 100
    names = ToolNames(20, [long])
    wire = names.to_wire(long)
    bodies: dict[Any, list[Body]] = {
        AnthropicDecoder: [start(0, type="tool_use", id="c", name=wire), stop(0), message_delta("tool_use")],
        ChatDecoder: [fragment(0, id="c", function={"name": wire}), chunk("tool_calls")],
        ResponsesDecoder: [item("done", 0, type="function_call", call_id="c", name=wire), COMPLETED],
    }

    events = run(kind(names, CountingIds()), bodies[kind])

    assert ToolStart("c", long) in events
    assert ToolEnd("c", long, {}) in events

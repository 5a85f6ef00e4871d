"""The three drivers over the loopback: streamed and whole, cut, silent, refused, oversized and garbled."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from meka.agent.blocks import Text, ToolResult, ToolUse
from meka.agent.providers.base import (
    Accepted,
    Cause,
    MessageEnd,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    StopReason,
    TextDelta,
    ThinkingComplete,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    Usage,
    UsageReport,
)
from meka.agent.providers.build import build_provider
from meka.agent.providers.scripted import ScriptedProvider
from meka.agent.providers.wire import WireProvider
from tests.loopback_provider import LoopbackProvider, Reply
from tests.unit.agent.providers.samples import READ_FILE, a_request, assistant, some_settings, user

BACKENDS = ("anthropic-messages", "openai-chat-completions", "openai-responses")
STREAMING = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
HELLO = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
ROUND: list[dict[str, Any]] = [
    {"type": "thinking_delta", "text": "let me"},
    {"type": "thinking_delta", "text": " see"},
    {"type": "thinking_complete", "opaque": "sealed", "item_id": "rs_1"},
    *HELLO,
    {"type": "tool_use_start", "id": "c1", "name": "read_file"},
    {"type": "tool_use_end", "id": "c1", "input": {"path": "ü.txt", "n": [1, 2]}},
    {"type": "tool_use_start", "id": "c2", "name": "list"},
    {"type": "tool_use_end", "id": "c2", "input": {}},
    {"type": "usage", "input_tokens": 30, "output_tokens": 7, "cache_read_input_tokens": 12},
]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def upstream() -> Iterator[LoopbackProvider]:
    with LoopbackProvider() as provider:
        yield provider


Driver = Callable[..., WireProvider]


@pytest.fixture
def driver(upstream: LoopbackProvider) -> Iterator[Driver]:
    made: list[WireProvider] = []

    def make(backend: str, **changes: Any) -> WireProvider:
        values = {"base_url": upstream.base_url, "silence_seconds": 20.0} | changes
        provider = build_provider(some_settings(backend, **values))
        assert isinstance(provider, WireProvider)
        made.append(provider)
        return provider

    yield make
    for provider in made:
        provider.close()


def texts(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def fails(provider: WireProvider, request: ModelRequest | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        list(provider.stream(request or a_request()))
    assert "the-key" not in str(caught.value)
    return caught.value


def usage_of(events: list[ProviderEvent]) -> Usage:
    """The counters as the loop merges them."""
    merged = dict.fromkeys(Usage.__dataclass_fields__, 0)
    for event in events:
        if isinstance(event, UsageReport):
            merged |= {name: getattr(event.usage, name) for name in merged if getattr(event.usage, name)}
    return Usage(**merged)


def without_usage(events: list[ProviderEvent]) -> list[ProviderEvent]:
    return [event for event in events if not isinstance(event, UsageReport)]


def expected(backend: str, *, stream: bool) -> list[ProviderEvent]:
    """What the scripted provider makes of the round, less what a protocol cannot carry."""
    events = without_usage(list(ScriptedProvider([ROUND]).stream(a_request(stream=stream))))
    if backend == "openai-chat-completions":
        events = [ThinkingComplete() if isinstance(event, ThinkingComplete) else event for event in events]
    elif backend == "anthropic-messages":
        events = [
            ThinkingComplete("sealed") if isinstance(event, ThinkingComplete) else event for event in events
        ]
    return events


@STREAMING
def test_a_round_arrives_as_it_was_scripted(
    backend: str, stream: bool, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(ROUND)

    events = list(driver(backend).stream(a_request(stream=stream, tools=[READ_FILE])))

    assert without_usage(events) == expected(backend, stream=stream)
    assert usage_of(events) == Usage(30, 7, 0, 12)


def test_tool_calls_of_chat_completions_come_together_at_the_end(
    upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add([*ROUND[5:7], {"type": "text", "text": "after"}])

    events = without_usage(list(driver("openai-chat-completions").stream(a_request())))

    assert [type(event) for event in events] == [Accepted, TextDelta, ToolStart, ToolEnd, MessageEnd]


@STREAMING
@pytest.mark.parametrize("stop", ["end_turn", "max_tokens"])
def test_a_stop_reason_is_mapped(
    backend: str, stream: bool, stop: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add([*HELLO, {"type": "message_end", "stop_reason": stop}])

    events = list(driver(backend).stream(a_request(stream=stream)))

    assert events[-1] == MessageEnd(StopReason(stop))


@STREAMING
@pytest.mark.parametrize("chosen", ["anthropic-messages", "openai-chat-completions"])
def test_a_refusal_without_words_of_its_own_is_carried(
    stream: bool, chosen: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add([*HELLO, {"type": "message_end", "stop_reason": "refusal"}])

    events = list(driver(chosen).stream(a_request(stream=stream)))

    assert events[-1] == MessageEnd(StopReason.REFUSAL)


@pytest.mark.parametrize("chosen", ["openai-chat-completions", "openai-responses"])
def test_a_refusal_in_words_is_carried(chosen: str, upstream: LoopbackProvider, driver: Driver) -> None:
    upstream.add([{"type": "message_end", "stop_reason": "refusal", "refusal_text": "I will not."}])

    events = list(driver(chosen).stream(a_request()))

    assert events[-1] == MessageEnd(StopReason.REFUSAL, "I will not.")


@STREAMING
def test_an_empty_completion_simply_ends(backend: str, stream: bool, driver: Driver) -> None:
    events = without_usage(list(driver(backend).stream(a_request(stream=stream))))

    assert events == [Accepted(), MessageEnd(StopReason.END_TURN)]


def test_what_is_sent_has_the_key_the_path_and_no_cookies_or_compression(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(HELLO, headers={"Set-Cookie": "a=b; Path=/"}), HELLO)
    provider = driver(backend)

    for _ in range(2):
        list(provider.stream(a_request()))
    received = upstream.requests[1]

    auth = "x-api-key" if backend == "anthropic-messages" else "authorization"
    assert received.headers[auth] == ("the-key" if auth == "x-api-key" else "Bearer the-key")
    assert received.headers["accept-encoding"] == "identity"
    assert "cookie" not in received.headers
    assert received.path.startswith("/v1/")
    assert received.body["model"] == "model-1"


def test_a_connection_serves_the_next_request(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    provider = driver(backend)
    for _ in range(3):
        list(provider.stream(a_request()))

    assert len({received.port for received in upstream.requests}) == 1


@STREAMING
def test_a_burst_gives_the_same_text(
    backend: str, stream: bool, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(HELLO, burst=True))

    assert texts(list(driver(backend).stream(a_request(stream=stream)))) == "hello"


@pytest.mark.parametrize("cut", [1, 10, 150, 400])
def test_a_stream_that_is_cut_is_transient(
    backend: str, cut: int, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply([{"type": "text", "text": "x" * 500}], cut_after_bytes=cut))

    error = fails(driver(backend))

    assert (error.cause, error.status, error.upstream) == (Cause.TRANSIENT, None, None)


def test_a_stream_that_ends_in_good_order_before_its_stop_reason_is_transient(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(raw=b": nothing but a comment\n\n"))

    assert fails(driver(backend)).cause is Cause.TRANSIENT


def test_text_before_the_cut_was_given(backend: str, upstream: LoopbackProvider, driver: Driver) -> None:
    upstream.add([*HELLO, {"type": "fail_stream"}])
    seen: list[ProviderEvent] = []

    with pytest.raises(ProviderError):
        seen.extend(driver(backend).stream(a_request()))
    assert texts(seen) == "hello"


END_OF_SPEECH = {
    "anthropic-messages": b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
    "openai-chat-completions": b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
    "openai-responses": b'data: {"type":"response.completed","response":{}}\n\n',
}


@pytest.mark.parametrize("hang", [True, False], ids=["silence", "end"])
def test_whatever_follows_a_stop_reason_is_a_success(
    backend: str, hang: bool, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(raw=END_OF_SPEECH[backend], hang=hang))

    events = list(driver(backend, silence_seconds=0.3).stream(a_request()))

    assert events[-1] == MessageEnd(StopReason.END_TURN)


def test_silence_is_transient(backend: str, upstream: LoopbackProvider, driver: Driver) -> None:
    upstream.add(Reply(HELLO, hang=True))

    error = fails(driver(backend, silence_seconds=0.3))

    assert error.cause is Cause.TRANSIENT
    assert upstream.wait_for_requests(1)[0].gone.wait(30)


def test_comments_are_silence(backend: str, upstream: LoopbackProvider, driver: Driver) -> None:
    upstream.add(Reply(HELLO, hang=True, keepalive_ms=20))

    error = fails(driver(backend, silence_seconds=0.3))

    assert error.cause is Cause.TRANSIENT
    assert "silent" in str(error)


def test_silence_before_the_head_is_transient(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(HELLO, delay_ms=60_000))

    assert fails(driver(backend, silence_seconds=0.3)).cause is Cause.TRANSIENT
    assert upstream.wait_for_requests(1)[0].gone.wait(30)


@pytest.mark.parametrize("chosen", ["anthropic-messages", "openai-chat-completions"])
def test_a_whole_reply_is_waited_for_past_the_silence_bound(
    chosen: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(HELLO, delay_ms=400))

    events = list(driver(chosen, silence_seconds=0.1).stream(a_request(stream=False)))

    assert texts(events) == "hello"


STATUSES = [
    (400, "upstream words", Cause.MALFORMED),
    (422, "upstream words", Cause.MALFORMED),
    (400, "The PROMPT IS TOO LONG: 3 > 2", Cause.OVERFLOW),
    (404, "This model's maximum context length is 8", Cause.OVERFLOW),
    (413, "upstream words", Cause.OVERFLOW),
    (400, "Your credit balance is too low", Cause.QUOTA),
    (402, "pay", Cause.QUOTA),
    (429, '{"error": {"code": "insufficient_quota"}}', Cause.QUOTA),
    (429, "prompt is too long", Cause.TRANSIENT),
    (500, "context_length_exceeded", Cause.TRANSIENT),
    (529, "overloaded", Cause.TRANSIENT),
    (401, "who", Cause.CREDENTIAL),
    (403, "upstream words", Cause.CREDENTIAL),
    (404, "upstream words", Cause.OTHER),
    (408, "late", Cause.OTHER),
]


@STREAMING
@pytest.mark.parametrize(("status", "body", "cause"), STATUSES)
def test_a_status_is_sorted_and_its_body_kept_apart(
    status: int,
    body: str,
    cause: Cause,
    stream: bool,
    upstream: LoopbackProvider,
    driver: Driver,
) -> None:
    upstream.add(Reply(status=status, body=body, headers={"Retry-After": "17"}))

    error = fails(driver("openai-chat-completions"), a_request(stream=stream))

    assert (error.cause, error.status, error.retry_after) == (cause, status, 17)
    assert error.upstream == body
    assert body not in str(error)


@STREAMING
def test_a_failing_upstream_is_transient(
    backend: str, stream: bool, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add([{"type": "fail_retryable", "message": "busy", "retry_after_secs": 4}])

    error = fails(driver(backend), a_request(stream=stream))

    assert (error.cause, error.status, error.retry_after) == (Cause.TRANSIENT, 503, 4)
    assert "busy" in (error.upstream or "")


@pytest.mark.parametrize("value", ["1.5", "-1", "Wed, 21 Oct 2099 07:28:00 GMT", "soon", ""])
def test_a_retry_after_that_is_no_whole_number_counts_for_nothing(
    value: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(status=503, body="", headers={"Retry-After": value}))

    assert fails(driver("openai-responses")).retry_after is None


def test_a_redirect_is_not_followed_and_its_location_is_in_the_upstream_text_alone(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    location = "http://elsewhere.example/"
    upstream.add(Reply(status=307, headers={"Location": location}, body="moved" * 300_000))

    error = fails(driver(backend))

    assert (error.cause, error.status) == (Cause.OTHER, 307)
    assert "elsewhere" in (error.upstream or "")
    assert "elsewhere" not in str(error)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        ({"type": "fail_retryable", "message": "busy"}, Cause.TRANSIENT),
        ({"type": "fail_invalid_request", "message": "bad"}, Cause.OTHER),
        ({"type": "fail_quota", "message": "nothing left"}, Cause.QUOTA),
        ({"type": "fail_credential", "message": "who"}, Cause.CREDENTIAL),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_an_error_inside_a_stream_is_sorted_by_its_code(
    event: dict[str, Any], cause: Cause, backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add([*HELLO, event])

    error = fails(driver(backend))

    assert (error.cause, error.status, error.retry_after) == (cause, None, None)
    assert event["message"] in (error.upstream or "")
    assert event["message"] not in str(error)


def test_an_error_that_opens_a_stream_leaves_the_request_unaccepted(
    upstream: LoopbackProvider, driver: Driver
) -> None:
    frame = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    upstream.add(Reply(raw=frame))

    with pytest.raises(ProviderError):
        next(driver("anthropic-messages").stream(a_request()))


@pytest.mark.parametrize("chosen", ["anthropic-messages", "openai-chat-completions"])
@pytest.mark.parametrize(
    "body", ["<html>", "", "[]", "{}", '{"choices": []}', '{"content": 3}', '{"choices": [7]}']
)
def test_a_whole_reply_that_is_none_of_the_protocol_is_an_other_error(
    body: str, chosen: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(body=body))

    assert fails(driver(chosen), a_request(stream=False)).cause is Cause.OTHER


def test_garbage_in_a_stream_is_skipped(backend: str, upstream: LoopbackProvider, driver: Driver) -> None:
    garbage = (
        b"\xff\xfe\x00 nonsense\n\ndata: {\n\ndata: []\n\nevent: message_start\ndata: 7\n\n"
        b'data: {"type": "content_block_start", "index": [1], "content_block": 3}\n\n'
        b'data: {"type": "content_block_delta", "index": {}, "delta": {"type": "text_delta", "text": 5}}\n\n'
        b'data: {"type": "response.output_item.done", "output_index": {}, "item": []}\n\n'
        b'data: {"choices": [{"delta": {"tool_calls": [3], "content": {}}}], "usage": "x"}\n\n'
        b'data: {"choices": 3, "error": null}\n\n'
    )
    upstream.add(Reply(raw=garbage + END_OF_SPEECH[backend]))

    events = list(driver(backend).stream(a_request()))

    assert isinstance(events[-1], MessageEnd)


@pytest.mark.parametrize("location", ["http://[", "", "//", "http://a b/"])
def test_a_redirect_to_nowhere_is_the_same_error(
    location: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(status=302, headers={"Location": location}, body=""))

    assert fails(driver("openai-responses")).status == 302


def test_html_where_a_stream_was_asked_for_is_an_other_error(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(raw=b"<html>", headers={"Content-Type": "text/html; charset=utf-8"}))

    assert fails(driver(backend)).cause is Cause.OTHER


def test_a_whole_reply_where_a_stream_was_asked_for_is_understood(
    upstream: LoopbackProvider, driver: Driver
) -> None:
    reply = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}
    upstream.add(Reply(body=reply))

    assert texts(list(driver("openai-chat-completions").stream(a_request()))) == "hello"


def test_a_whole_response_where_a_stream_was_asked_for_is_understood(
    upstream: LoopbackProvider, driver: Driver
) -> None:
    output = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "hello"}]},
        {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"},
    ]
    upstream.add(Reply(body={"status": "completed", "output": output, "usage": {"output_tokens": 4}}))

    events = without_usage(list(driver("openai-responses").stream(a_request())))

    assert events == [
        Accepted(), ThinkingDelta("hm"), ThinkingComplete("", "rs"), TextDelta("hello"),
        ToolStart("c", "t"), ToolEnd("c", "t", {}), MessageEnd(StopReason.TOOL_USE),
    ]  # fmt: skip


@STREAMING
def test_five_megabytes_go_out_and_come_back(
    backend: str, stream: bool, upstream: LoopbackProvider, driver: Driver
) -> None:
    big = "0123456789" * 500_000
    upstream.add(lambda received: [{"type": "text", "text": big}])
    call = assistant(ToolUse("c1", "read_file", {}))
    result = user(ToolResult("c1", False, (Text(big),)))

    events = list(driver(backend).stream(a_request(user("go"), call, result, stream=stream)))

    assert texts(events) == big
    assert big in json.dumps(upstream.requests[0].body)


def test_a_declared_length_over_the_bound_is_refused_unread(
    upstream: LoopbackProvider, driver: Driver
) -> None:
    upstream.add(Reply(body={"choices": []}, length=65 * 1024 * 1024, hang=True))

    error = fails(driver("openai-chat-completions"), a_request(stream=False))

    assert error.cause is Cause.OTHER
    assert upstream.requests[0].gone.wait(30)


def test_an_event_over_the_bound_is_an_other_error(upstream: LoopbackProvider, driver: Driver) -> None:
    upstream.add(Reply(raw=b"data: " + b"x" * (65 * 1024 * 1024)))

    assert fails(driver("openai-responses")).cause is Cause.OTHER


def test_a_body_over_max_request_bytes_is_not_sent(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    error = fails(driver(backend, max_request_bytes=2000), a_request(user("x" * 3000)))

    assert error.cause is Cause.TOO_LARGE
    assert upstream.requests == []


def test_nobody_listening_is_transient(backend: str) -> None:
    with LoopbackProvider() as gone:
        url = gone.base_url
    provider = build_provider(some_settings(backend, base_url=url, connect_seconds=5.0))
    assert isinstance(provider, WireProvider)

    error = fails(provider)

    assert (error.cause, error.status) == (Cause.TRANSIENT, None)
    provider.close()


@pytest.mark.parametrize("key", ["the-key\nX-Evil: 1", "the-key ☃"])
def test_a_key_that_no_header_can_hold_is_an_other_error_that_does_not_show_it(
    key: str, backend: str, driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    error = fails(driver(backend, api_key=key))

    assert error.cause is Cause.OTHER
    assert "the-key" not in caplog.text
    assert "the-key" not in f"{error!r} {error.__cause__!r}"


def test_a_lone_surrogate_is_replaced_before_it_is_sent(
    backend: str, upstream: LoopbackProvider, driver: Driver
) -> None:
    list(driver(backend).stream(a_request(user("a\ud800b"))))

    assert "a\\ufffdb" in json.dumps(upstream.requests[0].body)


def test_many_requests_share_a_provider(backend: str, upstream: LoopbackProvider, driver: Driver) -> None:
    provider = driver(backend)
    upstream.add(*[lambda received: Reply(HELLO, burst=True) for _ in range(8)])
    heard: list[str] = []
    readers = [
        threading.Thread(target=lambda: heard.append(texts(list(provider.stream(a_request())))))
        for _ in range(8)
    ]

    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)

    assert heard == ["hello"] * 8

"""The decoder of server-sent events: whatever the cuts, the same events."""

import pytest
from meka_client_stream import Frame, SseDecoder

STREAM = (
    "\ufeffretry: 3000\n\n: keep-alive\n\n"
    'id: 7\nevent: turn.started\ndata: {"a":\ndata: "ä😀"}\n\n'
    "data:bare\r\n\r\nevent: nothing\n\n"
    "id: 8\rdata\r\rid: a\0b\nunknown: x\ndata:  two\n\n"
    "event: cut\ndata: never sent\n"
).encode()
FRAMES = [
    Frame("turn.started", '{"a":\n"ä😀"}', "7"),
    Frame("message", "bare"),
    Frame("message", "", "8"),
    Frame("message", " two"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
def test_decoder_yields_the_same_events_whatever_the_cuts(size: int) -> None:
    decoder = SseDecoder()
    chunks = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    assert frames == FRAMES
    assert decoder.retry_seconds == 3.0


def test_decoder_hands_an_event_out_with_its_last_byte() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: x\r\n\r") == [Frame("message", "x")]
    assert decoder.feed(b"\ndata: y\n") == []
    assert decoder.feed(b"\n") == [Frame("message", "y")]


@pytest.mark.parametrize("value", ["", "-1", "1.5", "²", "soon"])
def test_decoder_ignores_a_retry_that_is_no_number(value: str) -> None:
    decoder = SseDecoder()
    decoder.feed(f"retry: {value}\n\n".encode())
    assert decoder.retry_seconds is None

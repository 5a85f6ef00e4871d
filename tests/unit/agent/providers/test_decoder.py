"""Frames come out of bytes the same, wherever the bytes were cut."""

import json

import pytest

from meka.agent.providers.decoder import DONE, EventTooLargeError, Frame, Payload, SseDecoder, read_payload


def decode(*chunks: bytes, limit: int = 1 << 20) -> list[Frame]:
    decoder = SseDecoder(limit)
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    return [*frames, *decoder.finish()]


STREAM = (
    "\ufeffevent: one\ndata: first\ndata: second\n\n: a comment\r\n\r\ndata:no space\r\n\r\n"
    "event: two\rdata:  two spaces\r\r\nid: 7\nretry: 3\ndata: ünï – 😀\n\nevent: empty\n\ndata\n\n"
).encode()
FRAMES = [
    Frame("one", "first\nsecond"),
    Frame("", "no space"),
    Frame("two", " two spaces"),
    Frame("", "ünï – 😀"),
    Frame("", ""),
]


@pytest.mark.parametrize("position", range(len(STREAM) + 1))
def test_frames_are_the_same_when_the_stream_is_cut_in_two(position: int) -> None:
    assert decode(STREAM[:position], STREAM[position:]) == FRAMES


def test_frames_are_the_same_when_every_byte_comes_alone() -> None:
    assert decode(*(bytes([byte]) for byte in STREAM)) == FRAMES


def test_an_empty_chunk_between_cr_and_lf_changes_nothing() -> None:
    assert decode(b"data: a\r", b"", b"\ndata: b\r\n\r\n") == [Frame("", "a\nb")]


def test_other_line_breaks_of_unicode_end_no_line() -> None:
    text = "a\x0b\x0c\x1c\x85\u2028b"

    assert decode(f"data: {text}\n\n".encode()) == [Frame("", text)]


def test_invalid_utf8_is_replaced() -> None:
    assert decode(b"data: a\xffb\n\n") == [Frame("", "a\ufffdb")]


def test_a_bom_is_dropped_at_the_start_alone() -> None:
    assert decode(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [Frame("", "a")]


def test_the_last_frame_needs_no_blank_line() -> None:
    assert decode(b"data: [DONE]") == [Frame("", "[DONE]")]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 100, b"data: x\n" * 20, b"data: " + b"x" * 100 + b"\n\n"]
)
def test_an_event_over_the_bound_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLargeError):
        decode(*(stream[i : i + 10] for i in range(0, len(stream), 10)), limit=90)


def test_the_bound_holds_for_one_event_and_not_for_the_stream() -> None:
    assert len(decode(*[b"data: 0123456789\n\n", b": a comment that is not held\n"] * 50, limit=60)) == 50


@pytest.mark.parametrize(
    ("frame", "payload"),
    [
        (Frame("ping", '{"type": "pong"}'), Payload("pong", {"type": "pong"})),
        (Frame("ping", '{"a": 1}'), Payload("ping", {"a": 1})),
        (Frame("ping", '{"type": 3}'), Payload("ping", {"type": 3})),
        (Frame("", " [DONE] "), Payload(DONE, {})),
    ],
)
def test_a_payload_is_named_by_its_type_before_its_event_line(frame: Frame, payload: Payload) -> None:
    assert read_payload(frame) == payload


@pytest.mark.parametrize("data", ["", "{", "[1]", "null", '"text"', "[" * 100_000, "1e5"])
def test_unreadable_data_is_skipped_with_a_warning_that_does_not_quote_it(
    data: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_payload(Frame("x", data)) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert not data or data not in caplog.text


def test_lone_surrogates_and_nul_are_replaced() -> None:
    payload = read_payload(Frame("", json.dumps({"text": "a\ud83db\x00"})))

    assert payload is not None
    assert payload.body == {"text": "a\ufffdb\ufffd"}

"""The output of a command: decoding, the cap, and how often it is told on."""

import pytest

from meka.agent.tools.output import CAP_BYTES, EMIT_SECONDS, Output, Stream
from tests.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def output(told: list[str], clock: FakeClock) -> Output:
    return Output(told.append, clock.monotonic)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((b"plain",), "plain"),
        ((b"\xe2\x82", b"\xac"), "€"),
        ((b"a\xffb",), "a\ufffdb"),
        ((b"cut \xe2\x82",), "cut \ufffd"),
        ((b"nul\x00",), "nul\ufffd"),
    ],
)
def test_output_decodes_whatever_comes(output: Output, pieces: tuple[bytes, ...], text: str) -> None:
    for piece in pieces:
        output.feed(Stream.STDOUT, piece)
    output.close(Stream.STDOUT)
    assert output.text(Stream.STDOUT) == text


def test_output_keeps_the_streams_apart(output: Output) -> None:
    output.feed(Stream.STDOUT, b"\xe2")
    output.feed(Stream.STDERR, b"oops")
    output.feed(Stream.STDOUT, b"\x82\xac")
    assert (output.text(Stream.STDOUT), output.text(Stream.STDERR)) == ("€", "oops")


def test_output_keeps_no_more_than_the_cap(output: Output) -> None:
    block = b"x" * (CAP_BYTES // 2)
    output.feed(Stream.STDOUT, block)
    output.feed(Stream.STDERR, block)
    assert not output.overflowed
    output.feed(Stream.STDERR, b"one more")
    assert output.overflowed
    assert len(output.text(Stream.STDERR)) == CAP_BYTES // 2


def test_output_is_told_on_at_most_once_an_interval(
    output: Output, clock: FakeClock, told: list[str]
) -> None:
    for letter in (b"a", b"b", b"c"):
        output.feed(Stream.STDOUT, letter)
        output.emit_due()
    assert told == ["a"]
    assert output.seconds_until_due() == pytest.approx(EMIT_SECONDS)
    clock.advance(EMIT_SECONDS)
    output.emit_due()
    assert told == ["a", "bc"]
    assert output.seconds_until_due() is None


def test_output_flush_tells_on_the_rest(output: Output, told: list[str]) -> None:
    output.feed(Stream.STDOUT, b"a")
    output.emit_due()
    output.feed(Stream.STDERR, b"b")
    output.flush()
    output.flush()
    assert told == ["a", "b"]


def test_output_tells_on_early_when_much_is_pending(output: Output, told: list[str]) -> None:
    output.feed(Stream.STDOUT, b"a")
    output.emit_due()
    output.feed(Stream.STDOUT, b"x" * 1_000_000)
    output.emit_due()
    assert "".join(told) == "a" + "x" * 1_000_000

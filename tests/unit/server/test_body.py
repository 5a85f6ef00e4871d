"""A request's body: its framing, its bound, and what is left of it."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meka.base.errors import InvalidBodyError, PayloadTooLargeError
from meka.server.body import MAX_DRAIN_BYTES, RequestBody
from meka.server.head import RequestHead


class Stream(io.BytesIO):
    """As a buffered socket: a read yields what there is."""

    def readinto1(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self.readinto(buffer)


class StalledStream(Stream):
    """A socket whose timeout strikes once its bytes are used up."""

    def readinto1(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = super().readinto1(buffer)
        if not count:
            raise TimeoutError("timed out")
        return count


def head(length: int | None = None, *, chunked: bool = False, expects_continue: bool = False) -> RequestHead:
    return RequestHead("POST", "/", "", "HTTP/1.1", (), length, chunked, True, expects_continue)


def body(
    raw: bytes,
    length: int | None = None,
    limit: int = 100,
    stream: type[Stream] = Stream,
    invited: list[bool] | None = None,
) -> RequestBody:
    invitations = [] if invited is None else invited
    return RequestBody(
        stream(raw),
        head(length, chunked=length is None, expects_continue=invited is not None),
        limit,
        lambda: invitations.append(True),
        lambda: None,
    )


def test_body_of_a_length_ends_there() -> None:
    reader = body(b"hello, next request", 5)
    assert reader.read() == b"hello"
    assert reader.ended
    assert reader.reusable


def test_body_without_framing_is_empty() -> None:
    assert RequestBody(Stream(b"next"), head(), 100, lambda: None, lambda: None).read() == b""


def test_body_in_chunks_is_joined() -> None:
    reader = body(b"5\r\nhello\r\n7;name=value\r\n, world\r\n0\r\nTrailer: x\r\n\r\nnext")
    assert io.BufferedReader(reader).read() == b"hello, world"
    assert reader.ended


def test_body_in_chunks_is_read_by_lines() -> None:
    assert list(io.BufferedReader(body(b"3\r\na\nb\r\n2\r\nc\n\r\n0\r\n\r\n"))) == [b"a\n", b"bc\n"]


@pytest.mark.parametrize(
    "raw",
    [
        b"x\r\nhello\r\n0\r\n\r\n",
        b"\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5_0\r\nhello\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloo\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5;a\nb\r\nhello\r\n0\r\n\r\n",
        b"5;" + b"a" * 2000 + b"\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
        b"5\r\nhello\r\n0\r\nX: a\n\r\n",
        b"5\r\nhello\r\n0\r\n" + b"X: a\r\n" * 3000 + b"\r\n",
        b"5\r\nhel",
        b"5\r\nhello\r\n",
        b"5\r\nhello\r\n0\r\n",
        b"",
    ],
)
def test_body_with_broken_chunks_is_refused(raw: bytes) -> None:
    reader = body(raw)
    with pytest.raises(InvalidBodyError) as caught:
        reader.read()
    assert caught.value.status == 400
    assert not reader.reusable
    with pytest.raises(InvalidBodyError):
        reader.read(1)


def test_body_cut_short_is_refused() -> None:
    with pytest.raises(InvalidBodyError):
        body(b"hel", 5).read()


def test_body_that_stalls_is_refused() -> None:
    with pytest.raises(InvalidBodyError, match="in time"):
        body(b"hel", 5, stream=StalledStream).read()


def test_body_too_large_by_its_length_is_refused_before_it_is_read() -> None:
    invited: list[bool] = []
    reader = body(b"", 101, invited=invited)
    with pytest.raises(PayloadTooLargeError) as caught:
        reader.read(1)
    assert caught.value.members == {"max_body_bytes": 100}
    assert not invited
    assert not reader.reusable


def test_body_of_exactly_the_limit_is_read() -> None:
    assert len(body(b"a" * 100, 100).read()) == 100
    assert len(body(b"64\r\n" + b"a" * 100 + b"\r\n0\r\n\r\n").read()) == 100


def test_body_too_large_in_chunks_is_refused_before_the_chunk_is_read() -> None:
    stream = b"60\r\n" + b"a" * 96 + b"\r\n5\r\nhello\r\n0\r\n\r\n"
    reader = body(stream)
    assert reader.read(96) == b"a" * 96
    with pytest.raises(PayloadTooLargeError):
        reader.read(1)


def test_body_is_invited_once_when_it_is_read() -> None:
    invited: list[bool] = []
    reader = body(b"hello", 5, invited=invited)
    assert not reader.reusable
    reader.read(2)
    reader.read(2)
    assert invited == [True]


def test_body_left_unread_is_drained_when_it_is_small() -> None:
    stream = Stream(b"hello" + b"next")
    reader = RequestBody(stream, head(5), 100, lambda: None, lambda: None)
    assert reader.drain()
    assert stream.read() == b"next"


def test_body_left_unread_is_not_drained_when_it_is_large_or_chunked() -> None:
    assert not body(b"", MAX_DRAIN_BYTES + 1, limit=10**6).drain()
    assert not body(b"0\r\n\r\n").drain()
    assert not body(b"hel", 5).drain()


@settings(deadline=None)
@given(st.lists(st.sampled_from([b"0", b"1", b"a", b"\r\n", b"\n", b";", b":", b"\r"])).map(b"".join))
def test_body_of_any_chunks_is_read_or_refused(raw: bytes) -> None:
    try:
        assert len(body(raw).read()) <= len(raw)
    except (InvalidBodyError, PayloadTooLargeError):
        return
    assert b"\r\n\r\n" in raw


def test_body_asks_before_each_read_whether_others_come_first() -> None:
    asked: list[bool] = []
    raw = b"1\r\na\r\n" * 50 + b"0\r\n\r\n"
    reader = RequestBody(Stream(raw), head(chunked=True), 100, lambda: None, lambda: asked.append(True))
    assert reader.read() == b"a" * 50
    assert len(asked) == 51

"""What counts as the head of a request, and what is refused."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meka.server.head import MAX_FIELDS, MAX_FIELDS_BYTES, MAX_LINE_BYTES, RequestHead, read_head
from meka.server.lines import ConnectionEndedError, HeadLines
from meka.server.refusals import ProtocolError

HOST = b"Host: a\r\n"


def head(*fields: bytes, line: bytes = b"POST / HTTP/1.1", host: bytes = HOST) -> bytes:
    return line + b"\r\n" + host + b"".join(field + b"\r\n" for field in fields) + b"\r\n"


def take(raw: bytes) -> RequestHead:
    return read_head(HeadLines(io.BytesIO(raw)))


def refused(raw: bytes) -> int:
    with pytest.raises(ProtocolError) as caught:
        take(raw)
    return caught.value.status


@pytest.mark.parametrize(
    "raw",
    [
        head(b"Content-Length: 3", b"Transfer-Encoding: chunked"),
        head(b"Transfer-Encoding: chunked", b"Content-Length: 3"),
        head(b"Content-Length: 3", b"Content-Length: 3"),
        head(b"Content-Length: 3", b"content-length: 4"),
        head(b"Content-Length: 3, 3"),
        head(b"Content-Length: +3"),
        head(b"Content-Length: -3"),
        head(b"Content-Length: 0x3"),
        head(b"Content-Length: 3_0"),
        head(b"Content-Length: "),
        head("Content-Length: \u00b3".encode("latin-1")),
        head(b"Content-Length: 9999999999999999999"),
        head(b"Transfer-Encoding: gzip"),
        head(b"Transfer-Encoding: gzip, chunked"),
        head(b"Transfer-Encoding: chunked, identity"),
        head(b"Transfer-Encoding: identity"),
        head(b"Transfer-Encoding: xchunked"),
        head(b'Transfer-Encoding: "chunked"'),
        head(b"Transfer-Encoding: \x0bchunked"),
        head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
        head(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0"),
        head(b"Transfer-Encoding : chunked"),
        head(b"Transfer-Encoding\t: chunked"),
        head(b" Transfer-Encoding: chunked"),
        head(b"X: a", b"\tTransfer-Encoding: chunked"),
        head(b"X: a", b" folded"),
        head(b"X: a\rTransfer-Encoding: chunked"),
        head(b"X: a\x00b"),
        head(b"X: a\nTransfer-Encoding: chunked"),
        head(b": nameless"),
        head(b"no colon"),
        head(b"N\xc3\xa4me: x"),
        head(b"Host: b"),
        head(host=b""),
        head(host=b"Host: a/b\r\n"),
        head(host=b"Host: user@a\r\n"),
        head(b"Authorization: Bearer a", b"Authorization: Bearer b"),
        head(b"Content-Type: a/b", b"Content-Type: c/d"),
        head(line=b"POST  / HTTP/1.1"),
        head(line=b"POST /\tHTTP/1.1"),
        head(line=b"POST / HTTP/1.1 "),
        head(line=b" POST / HTTP/1.1"),
        head(line=b"POST /a b HTTP/1.1"),
        head(line=b"POST /\xc3\xa4 HTTP/1.1"),
        head(line=b"POST /a#b HTTP/1.1"),
        head(line=b"P(ST / HTTP/1.1"),
        head(line=b"GET /"),
        head(line=b"GET"),
        head(line=b"GET / http/1.1"),
        head(line=b"GET / HTTP/1.10"),
        head(line=b"GET / HTTP/1"),
        head(line=b"CONNECT a:80 HTTP/1.1"),
        head(line=b"GET * HTTP/1.1"),
        head(line=b"GET http://[a HTTP/1.1"),
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_head_is_refused_as_malformed(raw: bytes) -> None:
    assert refused(raw) == 400


def test_head_with_another_version_is_refused() -> None:
    assert refused(head(line=b"PRI / HTTP/2.0")) == 505
    assert refused(head(line=b"GET / HTTP/0.9")) == 505


def test_head_with_another_expectation_is_refused() -> None:
    assert refused(head(b"Expect: magic")) == 417


def test_head_with_a_long_request_line_is_refused() -> None:
    assert refused(head(line=b"GET /" + b"a" * MAX_LINE_BYTES + b" HTTP/1.1")) == 414


def test_head_with_a_long_field_is_refused() -> None:
    assert refused(head(b"X: " + b"a" * MAX_FIELDS_BYTES)) == 431


def test_head_with_long_fields_together_is_refused() -> None:
    assert refused(head(*[b"X: " + b"a" * 4000] * 9)) == 431


def test_head_with_many_fields_is_refused() -> None:
    assert refused(head(*[b"X: a"] * MAX_FIELDS)) == 431
    assert take(head(*[b"X: a"] * (MAX_FIELDS - 1))).method == "POST"


def test_head_of_spaces_is_read_in_no_time() -> None:
    assert take(head(b"X:" + b" " * 30000 + b"a")).fields[-1] == ("x", "a")


@pytest.mark.parametrize("raw", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n", b"\r\n"])
def test_head_that_is_cut_short_ends_the_connection(raw: bytes) -> None:
    with pytest.raises(ConnectionEndedError):
        take(raw)


def test_head_is_taken_apart() -> None:
    read = take(head(b"X-A:  b \t", b"Content-Length: 12", line=b"PUT /a%20b?c=d?e HTTP/1.1"))
    assert (read.method, read.path, read.query, read.version) == ("PUT", "/a%20b", "c=d?e", "HTTP/1.1")
    assert read.fields == (("host", "a"), ("x-a", "b"), ("content-length", "12"))
    assert (read.content_length, read.chunked, read.has_body, read.keep_alive) == (12, False, True, True)


def test_head_after_one_empty_line_is_read() -> None:
    assert take(b"\r\n" + head()).method == "POST"


def test_head_with_an_absolute_target_gives_its_path() -> None:
    read = take(head(line=b"GET http://other/a?b HTTP/1.1"))
    assert (read.path, read.query) == ("/a", "b")
    assert take(head(line=b"GET http://other HTTP/1.1")).path == "/"


def test_head_says_whether_the_connection_is_kept() -> None:
    def keep(line: bytes, *fields: bytes) -> bool:
        return take(head(*fields, line=line)).keep_alive

    assert not keep(b"GET / HTTP/1.1", b"Connection: TE, Close")
    assert not keep(b"GET / HTTP/1.0")
    assert keep(b"GET / HTTP/1.0", b"Connection: Keep-Alive")


def test_head_chunked_is_read_whatever_its_case() -> None:
    read = take(head(b"Transfer-Encoding: Chunked", b"Expect: 100-Continue"))
    assert (read.chunked, read.content_length, read.expects_continue) == (True, None, True)


_WORDS = (
    *(b"GET ", b"POST ", b"/", b" ", b"HTTP/1.1", b"HTTP/1.0", b"http://", b"[", b":", b"\t", b"\x00"),
    *(b"\r\n", b"\r", b"\n", b"Host: a", b"Content-Length: 3", b"Transfer-Encoding: chunked"),
)
_PIECES = st.one_of(st.sampled_from(_WORDS), st.binary(max_size=5))


@settings(deadline=None)
@given(st.lists(_PIECES).map(b"".join))
def test_head_of_any_bytes_is_read_or_refused(raw: bytes) -> None:
    try:
        read = take(raw)
    except (ProtocolError, ConnectionEndedError):
        return
    assert raw.lstrip(b"\r\n").startswith(read.method.encode() + b" ")
    assert not (read.chunked and read.content_length is not None)

"""What hostile clients send, kind by kind, and how the server may answer it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tools.bench.rig import TOKEN

BODY_BYTES = 10_000_000
"""Just below what a body may hold by default."""

REFUSED = frozenset({422})
_DEEP = 100_000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of hostility: `make` gives the bytes of a connection, for a session's id.

    `statuses`: how it may be answered; None stands for a connection that ends without an answer that arrives.
    `drips`: sent a byte at a time over many connections, instead of all at once over a few.
    """

    name: str
    make: Callable[[str], bytes]
    statuses: frozenset[int | None]
    drips: bool = False


def head(method: str, path: str, *fields: str) -> bytes:
    """A request's head, the empty line included."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def posted(path: str, body: bytes, size: int | None = None) -> bytes:
    """A JSON body, POSTed; `size` where the head lies about it."""
    length = len(body) if size is None else size
    return head("POST", path, "Content-Type: application/json", f"Content-Length: {length}") + body


def chunked(path: str, chunk: bytes, count: int) -> bytes:
    """The same chunk, again and again."""
    fields = ("Content-Type: application/json", "Transfer-Encoding: chunked")
    return head("POST", path, *fields) + chunk * count + b"0\r\n\r\n"


def full(before: bytes, unit: bytes, after: bytes) -> bytes:
    """As many units as a body has room for."""
    return before + unit * ((BODY_BYTES - len(before) - len(after)) // len(unit)) + after


def kinds() -> Iterator[Kind]:
    """Every kind."""
    yield from _broken_heads()
    yield from _bodies_of_no_end()
    yield from _json_bombs()
    yield from _long_names()


def reads() -> Iterator[Kind]:
    """Reads of a session that is long, each of them allowed."""
    for what, path in {
        "pages of a long history": "messages?limit=1000",
        "exports of a long history": "export?format=json",
        "transcripts of a long history": "export",
    }.items():
        yield Kind(
            what,
            lambda s, path=path: head("GET", f"/v1/sessions/{s}/{path}"),  # type: ignore[misc]
            frozenset({200}),
        )
    search = head("GET", "/v1/sessions/search?q=word")
    yield Kind("searches for a word of megabytes", lambda _: search, frozenset({200, 503}))


def _broken_heads() -> Iterator[Kind]:
    many = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 1_000_000
    live = head("GET", "/v1/health/live")
    yield Kind("a flood of header fields", lambda _: many, frozenset({431, None}))
    yield Kind("a header field of megabytes", lambda _: many[:25] + b"X: " + b"y" * 10_000_000,
               frozenset({431, None}))  # fmt: skip
    yield Kind("a request line of megabytes", lambda _: b"GET /" + b"a" * 10_000_000, frozenset({414, None}))
    yield Kind("pipelined requests", lambda _: live * 2_000, frozenset({200, None}))
    yield Kind("slow heads", lambda _: live, frozenset({200, 408, None}), drips=True)
    yield Kind(
        "slow bodies",
        lambda session: posted(_turn(session), b'{"message": "x"}', 1000),
        frozenset({400, None}),
        drips=True,
    )


def _bodies_of_no_end() -> Iterator[Kind]:
    full_chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    too_large = frozenset({413, None})
    yield Kind("a chunked body of 100 MB", lambda s: chunked(_turn(s), full_chunk, 1600), too_large)
    yield Kind("a body of 100 MB", lambda s: posted(_turn(s), b"x" * 100_000_000), too_large)
    yield Kind("chunks of one byte", lambda s: chunked(_turn(s), b"1\r\n[\r\n", 100_000), REFUSED | {None})
    extended = b"1;" + b"x" * 1000 + b"\r\n[\r\n"
    yield Kind("chunks with extensions", lambda s: chunked(_turn(s), extended, 5_000), REFUSED | {None})


def _json_bombs() -> Iterator[Kind]:
    units = {
        "empty texts": b'"",',
        "nulls": b"null,",
        "numbers": b"1,",
        "fractions": b"1e9,",
        "empty arrays": b"[],",
        "empty objects": b"{},",
        "hashes": b'{"hash":"a"},',
    }
    for what, unit in units.items():
        raw = full(b'{"message":"x","images":[', unit, b"0]}")
        yield Kind(f"10 MB of {what}", lambda s, raw=raw: posted(_turn(s), raw), REFUSED)  # type: ignore[misc]
    members = b"{" + b",".join(b'"%d":1' % number for number in range(800_000)) + b"}"
    archive = full(b'{"format":"meka-session-archive","format_version":1,"sessions":[', b"{},", b"0]}")
    bodies = {
        "10 MB of unknown fields": members,
        "one field given a million times": full(b"{", b'"message":1,', b'"message":2}'),
        "10 MB of lone surrogates": full(b'{"messages":"', b"\\ud800", b'"}'),
        "10 MB of one text": full(b'{"messages":"', b"word ", b'"}'),
        "a number of 10 MB": full(b'{"message":', b"9", b"}"),
        "10 MB of spaces": full(b"", b" ", b""),
        "invalid UTF-8 at the end": full(b'{"message":"', b"a", b'\xff"}'),
        "NaN": b'{"message": NaN}',
        "arrays 100,000 deep": b"[" * _DEEP + b"]" * _DEEP,
        "objects 100,000 deep": b'{"message":' * _DEEP + b"1" + b"}" * _DEEP,
    }
    for what, body in bodies.items():
        yield Kind(what, lambda s, body=body: posted(_turn(s), body), REFUSED)  # type: ignore[misc]
    yield Kind("an archive of 10 MB", lambda _: posted("/v1/sessions/import", archive), REFUSED)
    deep = b'{"format":' + b"[" * _DEEP + b"]" * _DEEP + b"}"
    yield Kind("an archive 100,000 deep", lambda _: posted("/v1/sessions/import", deep), REFUSED)
    image = full(b'{"message":"x","images":[{"media_type":"image/png","data":"', b"QUJD", b'"}]}')
    yield Kind("10 MB that are no image", lambda s: posted(_turn(s), image), REFUSED)


def _long_names() -> Iterator[Kind]:
    long = "9" * 7000
    fields = (f"Last-Event-ID: {'9' * 30_000}",)
    yield Kind("a huge id in the path", lambda _: head("GET", f"/v1/sessions/{long}"), frozenset({400}))
    yield Kind("a huge cursor", lambda _: head("GET", f"/v1/sessions?cursor={long}"), frozenset({422}))
    yield Kind("a huge Last-Event-ID", lambda s: head("GET", f"/v1/sessions/{s}/messages", *fields),
               frozenset({200}))  # fmt: skip
    name = json.dumps({"project": "9" * 1_000_000}).encode()
    yield Kind("a huge name in a body", lambda _: posted("/v1/sessions", name), REFUSED)


def _turn(session: str) -> str:
    return f"/v1/sessions/{session}/turn"

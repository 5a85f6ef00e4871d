"""Answers of the server itself: a page of an allowed origin may read them as it may any other."""

from collections.abc import Callable
from typing import Any

import gevent
import pytest

from meka.wire.cors import EXPOSED_HEADERS, Cors
from tests.unit.server.rawhttp import Answer, Client, echo, request, serving

PAGE = "https://ui.example"
EVIL = "https://evil.example"
ORIGIN = f"Origin: {PAGE}"
GRANT = Cors(echo, [PAGE]).grant


def answer_to(raw: bytes, app: Callable[..., Any] = echo, grant: Any = GRANT, **settings: Any) -> Answer:
    with serving(app, grant=grant, **settings) as server, Client(server.address) as client:
        client.send(raw)
        answered = client.answer()
        assert client.ended()
        return answered


def check_granted(answered: Answer, status: int) -> None:
    assert answered.status == status
    assert answered.headers["access-control-allow-origin"] == PAGE
    assert answered.headers["access-control-expose-headers"] == EXPOSED_HEADERS
    assert answered.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answered.headers


REFUSED = [
    (("Content-Length: 3", "Transfer-Encoding: chunked"), 400),
    (("Content-Length: 3, 3",), 400),
    (("Transfer-Encoding: gzip",), 400),
    (("Authorization: a", "Authorization: b"), 400),
    (("Expect: a-miracle",), 417),
    (("X: a", " folded"), 400),
    (("N me: a",), 400),
    (("X: " + "a" * 40000,), 431),
    (("X: " + "a" * 140000,), 431),
    (tuple(f"X-{n}: a" for n in range(150)), 431),
]


@pytest.mark.parametrize(("fields", "status"), REFUSED)
@pytest.mark.parametrize("is_first", [True, False])
def test_refused_head_is_answered_with_the_grant(
    fields: tuple[str, ...], status: int, is_first: bool
) -> None:
    ordered = (ORIGIN, *fields) if is_first else (*fields, ORIGIN)
    check_granted(answer_to(request("/", "POST", *ordered)), status)


@pytest.mark.parametrize(
    ("line", "status"),
    [("GET /" + "a" * 9000 + " HTTP/1.1", 414), ("GET / HTTP/1.2", 505), ("GET  / HTTP/1.1", 400)],
)
def test_refused_request_line_is_answered_with_the_grant(line: str, status: int) -> None:
    check_granted(answer_to(f"{line}\r\nHost: a\r\n{ORIGIN}\r\n\r\n".encode()), status)


def test_head_that_came_too_late_is_answered_with_the_grant_of_what_came() -> None:
    raw = f"GET / HTTP/1.1\r\nHost: a\r\n{ORIGIN}\r\nX: a".encode()
    check_granted(answer_to(raw, head_timeout_seconds=0.2), 408)


def test_failure_of_the_application_is_answered_with_the_grant() -> None:
    def fail(_environ: object, _start: object) -> list[bytes]:
        raise RuntimeError("as it happens")

    check_granted(answer_to(request("/", "GET", ORIGIN), fail), 500)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (f"Origin: {EVIL}",),
        ("Origin: null",),
        (ORIGIN, ORIGIN),
        (ORIGIN, f"Origin: {EVIL}"),
        (f"Origin: {PAGE}, {PAGE}",),
        (f"Origin : {PAGE}",),
        (f"Origin: {PAGE}\x01",),
        (f"Origin: {PAGE}\rX-Forged: 1",),
        (f"Origin: {PAGE}/" + "x" * 20000,),
        (f"X: {'x' * 40000} Origin: {PAGE}",),
        ("X: a", f" Origin: {PAGE}"),
    ],
)
def test_refusal_grants_nothing_to_an_origin_that_is_not_allowed(fields: tuple[str, ...]) -> None:
    answered = answer_to(request("/", "POST", *fields, "Content-Length: -1"))
    assert answered.status in (400, 431)
    assert not any(name.startswith("access-control") or "forged" in name for name in answered.headers)
    assert answered.headers["vary"] == "Origin"


def test_tail_of_a_line_that_was_too_long_is_no_origin() -> None:
    """Where the reader stops within the line, what looks like a field behind it is a part of its value."""
    head = b"POST / HTTP/1.1\r\nX: "
    for cut in range(32740, 32790):
        answered = answer_to(head + b"x" * (cut - 3) + ORIGIN.encode() + b"x\r\n\r\n")
        assert "access-control-allow-origin" not in answered.headers


def test_refusal_waits_a_moment_for_the_rest_of_a_head() -> None:
    with serving(echo, grant=GRANT) as server, Client(server.address) as client:
        client.send(request("/", "POST", "Content-Length: -1", "X: a")[:-2].replace(b"X: a", b" folded"))
        gevent.sleep(0.05)
        client.send(f"{ORIGIN}\r\n\r\n".encode())
        check_granted(client.answer(), 400)


def test_refusal_of_a_head_without_an_end_is_not_held_up_where_nobody_is_granted_anything() -> None:
    answered = answer_to(b"GET / HTTP/1.1\r\n folded\r\n", grant=None, linger_seconds=8.0)
    assert answered.status == 400
    assert "vary" not in answered.headers

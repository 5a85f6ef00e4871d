"""What the server says by itself, before an application is asked: problem+json answers to broken HTTP."""

import json
from collections.abc import Iterable
from http import HTTPStatus

from meka.base.errors import TYPE_PREFIX
from meka.schema.problems import PROBLEMS


class ProtocolError(Exception):
    """A request that is refused at the level of HTTP; the connection ends with the answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def protocol_problem(error: ProtocolError) -> bytes:
    """The body of the answer to `error`: the contract's `invalid-body` for a 400, RFC 9457's `about:blank`
    for the statuses the contract has no kind for (408, 414, 417, 431, 505)."""
    slug = {400: "invalid-body", 413: "payload-too-large", 500: "internal"}.get(error.status)
    problem = {
        "type": "about:blank" if slug is None else TYPE_PREFIX + slug,
        "title": HTTPStatus(error.status).phrase if slug is None else PROBLEMS[slug].title,
        "status": error.status,
        "detail": error.detail,
    }
    return json.dumps(problem, separators=(",", ":")).encode()


def refusal(error: ProtocolError, with_body: bool = True, grant: Iterable[tuple[str, str]] = ()) -> bytes:
    """The whole answer to `error` as it goes over the wire; without its body where a HEAD asked.

    `grant`: the headers with which a page of another origin may read it.
    """
    body = protocol_problem(error)
    fields = [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        *grant,
        ("Connection", "close"),
    ]
    first = f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\n"
    head = first + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
    return head.encode("latin-1") + (body if with_body else b"")

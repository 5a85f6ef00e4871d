"""The head of an HTTP/1.x request (RFC 9112): what two parsers could read in two ways is refused."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from meka.server.lines import HeadLines, is_token
from meka.server.refusals import ProtocolError

MAX_LINE_BYTES = 8190
MAX_FIELDS_BYTES = 32768
MAX_FIELDS = 100

_TARGET = re.compile(r"[\x21\x22\x24-\x7e]+")
_VERSION = re.compile(r"HTTP/(\d)\.(\d)")
_HOST = re.compile(r"[0-9A-Za-z.\-_~%!$&'()*+,;=:\[\]]*")
_LENGTH = re.compile(r"[0-9]{1,18}")

# A second one of these would let two readers of one request disagree.
_SINGLE = frozenset(
    {"host", "content-length", "transfer-encoding", "content-type", "authorization", "expect"}
)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """One request's head; `fields` are in order of arrival, with names in lower case."""

    method: str
    path: str
    query: str
    version: str
    fields: tuple[tuple[str, str], ...]
    content_length: int | None
    chunked: bool
    keep_alive: bool
    expects_continue: bool

    @property
    def has_body(self) -> bool:
        """Whether the framing announces any bytes after the head."""
        return self.chunked or bool(self.content_length)


def read_head(lines: HeadLines) -> RequestHead:
    """Read one head.

    Raises: `ProtocolError` on what is no plain HTTP/1.x, `ConnectionEndedError` when nothing more comes.
    """
    method, target, version = _parse_request_line(_read_request_line(lines))
    _read_fields(lines)
    fields = tuple(lines.fields)
    path, query = _split_target(method, target)
    single = _single_fields(fields)
    _check_host(version, single)
    length, chunked = _framing(version, single)
    return RequestHead(
        method=method,
        path=path,
        query=query,
        version=version,
        fields=fields,
        content_length=length,
        chunked=chunked,
        keep_alive=_keep_alive(version, fields),
        expects_continue=_expects_continue(version, single),
    )


def _read_request_line(lines: HeadLines) -> str:
    too_long = ProtocolError(414, "the request line is too long")
    # One empty line ahead of a request is tolerated: some clients end a body with one.
    return lines.read(MAX_LINE_BYTES, too_long) or lines.read(MAX_LINE_BYTES, too_long)


def _parse_request_line(line: str) -> tuple[str, str, str]:
    words = line.split(" ")
    if len(words) != 3 or not is_token(words[0]) or not _TARGET.fullmatch(words[1]):
        raise ProtocolError(400, "the request line is malformed")
    version = _VERSION.fullmatch(words[2])
    if version is None:
        raise ProtocolError(400, "the request line names no HTTP version")
    if words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise ProtocolError(505, "this server speaks HTTP/1.1 and HTTP/1.0")
    return words[0], words[1], words[2]


def _read_fields(lines: HeadLines) -> None:
    room = MAX_FIELDS_BYTES
    too_large = ProtocolError(431, "the request's header fields are too large")
    for _ in range(MAX_FIELDS + 1):
        size = lines.read_field(room, too_large)
        if not size:
            return
        room -= size
    raise ProtocolError(431, "the request has too many header fields")


def _split_target(method: str, target: str) -> tuple[str, str]:
    if target.startswith("/") or (target == "*" and method == "OPTIONS"):
        path, _, query = target.partition("?")
        return path, query
    if target.lower().startswith(("http://", "https://")):
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise ProtocolError(400, "the request's target is malformed") from error
        return parts.path or "/", parts.query
    raise ProtocolError(400, "the request's target is no path")


def _single_fields(fields: tuple[tuple[str, str], ...]) -> dict[str, str]:
    single: dict[str, str] = {}
    for name, value in fields:
        if name not in _SINGLE:
            continue
        if name in single:
            raise ProtocolError(400, f"the header field '{name}' is given twice")
        single[name] = value
    return single


def _check_host(version: str, single: dict[str, str]) -> None:
    host = single.get("host")
    if host is None:
        if version == "HTTP/1.1":
            raise ProtocolError(400, "the header field 'host' is missing")
    elif not _HOST.fullmatch(host):
        raise ProtocolError(400, "the header field 'host' is malformed")


def _framing(version: str, single: dict[str, str]) -> tuple[int | None, bool]:
    coding, length = single.get("transfer-encoding"), single.get("content-length")
    if coding is not None:
        if length is not None:
            raise ProtocolError(400, "the request gives both Transfer-Encoding and Content-Length")
        if coding.lower() != "chunked" or version == "HTTP/1.0":
            raise ProtocolError(400, "the only Transfer-Encoding understood is 'chunked', in HTTP/1.1")
        return None, True
    if length is not None and not _LENGTH.fullmatch(length):
        raise ProtocolError(400, "the Content-Length is not a number")
    return (None if length is None else int(length)), False


def _keep_alive(version: str, fields: tuple[tuple[str, str], ...]) -> bool:
    options = {
        option.strip().lower()
        for name, value in fields
        if name == "connection"
        for option in value.split(",")
    }
    return "close" not in options if version == "HTTP/1.1" else "keep-alive" in options


def _expects_continue(version: str, single: dict[str, str]) -> bool:
    expectation = single.get("expect")
    if expectation is None or version == "HTTP/1.0":
        return False
    if expectation.lower() != "100-continue":
        raise ProtocolError(417, "the only expectation understood is '100-continue'")
    return True

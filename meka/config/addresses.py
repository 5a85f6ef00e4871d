"""Addresses in the file: where the server listens, and the web origins it answers to."""

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

import idna

_HOST = re.compile(r"[a-z0-9._-]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
ANY_ORIGIN = "*"


class AddressError(ValueError):
    """An address that cannot stand; the sentence completes "<key> ..."."""


def split_bind(text: str) -> tuple[str, int]:
    """Host and port of `host:port`; an IPv6 host stands in brackets. Raises: AddressError."""
    host, separator, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        separator = ""
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise AddressError('must be "host:port", an IPv6 host in brackets')
    return host, int(port)


def normalize_origins(entries: Sequence[str]) -> tuple[str, ...]:
    """`entries` as a browser spells them, once each. Raises: AddressError."""
    origins = tuple(dict.fromkeys(normalize_origin(entry) for entry in entries))
    if ANY_ORIGIN in origins and len(entries) > 1:
        raise AddressError('must hold "*" alone, or origins without it')
    return origins


def normalize_origin(entry: str) -> str:
    """One origin in lowercase and punycode, without default port and trailing `/`. Raises: AddressError."""
    text = entry.strip()
    if text == ANY_ORIGIN:
        return ANY_ORIGIN
    if not text or text.lower() == "null":
        raise AddressError('takes neither an empty origin nor "null"')
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise AddressError("holds an origin that is no address") from None
    _refuse_more_than_origin(text, parts)
    return f"{parts.scheme}://{_normalize_host(parts.hostname or '')}{_port_suffix(parts.scheme, port)}"


def _refuse_more_than_origin(text: str, parts: SplitResult) -> None:
    if parts.scheme not in _DEFAULT_PORTS:
        raise AddressError("takes http:// and https:// origins only")
    if parts.path not in ("", "/") or "?" in text or "#" in text or "@" in parts.netloc:
        raise AddressError("takes origins only: no path, query, fragment or credentials")
    if "*" in parts.netloc:
        raise AddressError("takes no * within an origin")


def _normalize_host(host: str) -> str:
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError:
            raise AddressError("holds an origin whose IPv6 address is malformed") from None
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise AddressError("holds an origin whose host name is malformed") from None
    if not _HOST.fullmatch(host):
        raise AddressError("holds an origin whose host name is malformed")
    return host


def _port_suffix(scheme: str, port: int | None) -> str:
    return "" if port in (None, _DEFAULT_PORTS[scheme]) else f":{port}"

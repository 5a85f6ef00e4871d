"""Entity tags of a conversation's state, If-Match, and the cursors of paged listings."""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from meka.base.errors import InvalidBodyError
from meka.wire.answers import dump_json
from meka.wire.json_reader import read_json

_TAG_LIST = re.compile(r'[ \t,]*(?:(?:W/)?"[^"]*"[ \t]*(?:,[ \t,]*|$))+')
_TAG = re.compile(r'(W/)?("[^"]*")')
_CHECKSUM_BYTES = 6


def make_etag(revision: int, total: int) -> str:
    """The strong tag of a conversation: a rewrite moves its revision, an append its number of messages."""
    return f'"{revision}-{total}"'


@dataclass(frozen=True, slots=True)
class IfMatch:
    """What an If-Match header asks for: any state, or one of some tags."""

    any_state: bool
    tags: frozenset[str]

    def allows(self, revision: int, total: int) -> bool:
        """Whether the conversation in this state is one that was asked for."""
        return self.any_state or make_etag(revision, total) in self.tags


def parse_if_match(header: str | None) -> IfMatch | None:
    """The condition of an If-Match header, None without one; weak tags never match.

    Raises: `InvalidBodyError` (400) for what is no list of entity tags.
    """
    if header is None:
        return None
    if header.strip() == "*":
        return IfMatch(True, frozenset())
    if len(header) > 4096 or not _TAG_LIST.fullmatch(header):
        raise InvalidBodyError("the If-Match header is not a list of entity tags", status=400)
    return IfMatch(False, frozenset(tag for weak, tag in _TAG.findall(header) if not weak))


def condition_of(header: str | None) -> Callable[[int, int], bool]:
    """The condition on revision and total that a request sets. Raises: as `parse_if_match`."""
    asked = parse_if_match(header)
    return _any_state if asked is None else asked.allows


def _any_state(_revision: int, _total: int) -> bool:
    return True


def encode_cursor(place: Sequence[object]) -> str:
    """A place in a listing (JSON values) as an opaque text that can stand in a query."""
    payload = dump_json(list(place))
    return base64.urlsafe_b64encode(_checksum(payload) + payload).decode().rstrip("=")


def decode_cursor(cursor: str, shape: Sequence[type]) -> tuple[Any, ...]:
    """The place that `cursor` stands for, of exactly these types.

    Raises: `InvalidBodyError` (422) when this server never issued it for such a listing.
    """
    try:
        place = _read_cursor(cursor)
    except ValueError:
        place = None
    if not isinstance(place, list) or [type(value) for value in place] != list(shape):
        raise InvalidBodyError("query parameter `cursor` was not issued by this listing")
    return tuple(place)


def _read_cursor(cursor: str) -> object:
    raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    payload = raw[_CHECKSUM_BYTES:]
    if raw[:_CHECKSUM_BYTES] != _checksum(payload):
        raise ValueError("the checksum does not fit")
    return read_json(payload)


def _checksum(payload: bytes) -> bytes:
    # No secret: a cursor grants nothing. It tells a cursor of ours from whatever else is sent as one.
    return hashlib.sha256(b"meka cursor\0" + payload).digest()[:_CHECKSUM_BYTES]

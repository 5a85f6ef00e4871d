"""Entity tags of a conversation's state, If-Match, and the cursors of paged listings."""

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass

from meka.base.errors import InvalidBodyError
from meka.wire.answers import dump_json

_TAG_LIST = re.compile(r'[ \t,]*(?:(?:W/)?"[^"]*"[ \t]*(?:,[ \t,]*|$))+')
_TAG = re.compile(r'(W/)?("[^"]*")')
_MAC_BYTES = 8


def entity_tag(revision: int, total: int) -> str:
    """The strong tag of a conversation: a rewrite moves its revision, an append its number of messages."""
    return f'"{revision}-{total}"'


@dataclass(frozen=True, slots=True)
class IfMatch:
    """What an If-Match header asks for: any state, or one of some tags."""

    any_state: bool
    tags: frozenset[str]

    def allows(self, revision: int, total: int) -> bool:
        """Whether the conversation in this state is one that was asked for."""
        return self.any_state or entity_tag(revision, total) in self.tags


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


class Cursors:
    """Opaque places in a listing: a cursor carries a mark that only the holder of `key` can make."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encode(self, listing: str, place: object) -> str:
        """`place` (a JSON value) as the cursor of `listing`."""
        payload = dump_json(place)
        return base64.urlsafe_b64encode(self._mark(listing, payload) + payload).decode().rstrip("=")

    def decode(self, listing: str, cursor: str) -> object:
        """The place `cursor` stands for. Raises: `InvalidBodyError` when `listing` never issued it."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        mark, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mark, self._mark(listing, payload)):
            raise InvalidBodyError("query parameter `cursor` was not issued by this listing")
        place: object = json.loads(payload)
        return place

    def _mark(self, listing: str, payload: bytes) -> bytes:
        return hmac.digest(self._key, listing.encode() + b"\0" + payload, hashlib.sha256)[:_MAC_BYTES]

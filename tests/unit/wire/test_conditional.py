"""Entity tags, If-Match and cursors."""

import base64
import hashlib

import pytest

from meka.base.errors import InvalidBodyError
from meka.wire.conditional import decode_cursor, encode_cursor, make_etag, parse_if_match

SHAPE = (bool, int, str)
PLACE = (True, 1_793_001_600_000_000, "0189e5a0-0000-7000-8000-00000000000a")


def test_etag_is_strong_and_quoted() -> None:
    assert make_etag(3, 12) == '"3-12"'


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ('"3-12"', True),
        ('"1-1", "3-12"', True),
        ('"1-1","3-12" ,', True),
        ("*", True),
        (" * ", True),
        ('"3-1"', False),
        ('W/"3-12"', False),
        ('"1-1", W/"3-12"', False),
        ('"W/3-12"', False),
    ],
)
def test_if_match_allows_what_it_lists(header: str, allowed: bool) -> None:
    condition = parse_if_match(header)
    assert condition is not None
    assert condition.allows(3, 12) is allowed


def test_if_match_left_out_asks_for_nothing() -> None:
    assert parse_if_match(None) is None


@pytest.mark.parametrize("header", ["", "3-12", '"3-12', '"a" "b"', '"a", *', ", " * 3000, '"' * 5001])
def test_if_match_that_is_no_list_is_refused(header: str) -> None:
    with pytest.raises(InvalidBodyError) as caught:
        parse_if_match(header)
    assert caught.value.status == 400


def test_cursor_comes_back_as_it_was_issued() -> None:
    cursor = encode_cursor(PLACE)
    assert decode_cursor(cursor, SHAPE) == PLACE
    assert cursor.replace("-", "").replace("_", "").isalnum()


def checked(payload: bytes) -> str:
    mark = hashlib.sha256(b"meka cursor\0" + payload).digest()[:6]
    return base64.urlsafe_b64encode(mark + payload).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "nonsense",
        "ü",
        encode_cursor(PLACE)[:-2],
        encode_cursor(PLACE) + "AA",
        encode_cursor(PLACE).swapcase(),
        encode_cursor((True, 1)),
        encode_cursor((1, 1, "a")),
        checked(b"5"),
        checked(b"[true, 1"),
        checked(b'[true, 99999999999999999999999, "a"]'),
        checked(b"[" * 100_000),
    ],
)
def test_cursor_that_was_not_issued_is_a_422(cursor: str) -> None:
    with pytest.raises(InvalidBodyError, match="not issued") as caught:
        decode_cursor(cursor, SHAPE)
    assert caught.value.status == 422

"""The string formats of the document that are checked, and what a handler gets of them."""

import re
from datetime import UTC, datetime

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(?:([Zz])|([+\- ])(\d\d:\d\d))", re.ASCII
)


def parse_uuid(text: str) -> str | None:
    """A UUID in its canonical spelling, as ids are stored; None when `text` is none."""
    return text.lower() if _UUID.fullmatch(text) else None


def parse_instant(text: str) -> datetime | None:
    """An RFC 3339 instant in UTC; None when `text` is none.

    A space may stand for the plus sign of an offset: that is what an unescaped one in a query arrives as.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    date, time, fraction, zulu, sign, offset = match.groups()
    zone = "+00:00" if zulu else f"{'-' if sign == '-' else '+'}{offset}"
    try:
        return datetime.fromisoformat(f"{date}T{time}.{(fraction or '0').ljust(6, '0')}{zone}").astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        return None


FORMATS = {"uuid": parse_uuid, "date-time": parse_instant}
FORMAT_NAMES = {"uuid": "a UUID", "date-time": "an RFC 3339 instant"}

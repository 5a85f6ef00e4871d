"""Small, total functions on text that comes from outside."""

from collections.abc import Iterator
from typing import Any

_REPLACEMENT = "\ufffd"
_PIECE_CHARACTERS = 4096


def scrub(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD, so that it can be stored and sent on."""
    if "\x00" in text:
        text = text.replace("\x00", _REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(map(_without_surrogates, _pieces(text)))
    return text


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces, because one call over megabytes of surrogates would stop every thread for a second.

    No piece ends within a pair, which is one character.
    """
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARACTERS
        if "\ud800" <= text[end - 1 : end] <= "\udbff":
            end += 1
        yield text[start:end]
        start = end


def scrub_tree(value: Any) -> Any:
    """`scrub` over every string of a JSON value, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_tree(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub_tree(item) for key, item in value.items()}
    return value


def cut_utf8(text: str, limit_bytes: int, mark: str = "") -> str:
    """`text` cut so that it fits `limit_bytes` as UTF-8, `mark` included, on a character boundary."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit_bytes:
        return text
    room = max(0, limit_bytes - len(mark.encode()))
    return encoded[:room].decode("utf-8", "ignore") + mark


def one_line(text: str) -> str:
    """`text` with whitespace runs collapsed and control characters dropped."""
    return " ".join("".join(ch if ch.isprintable() or ch.isspace() else "" for ch in text).split())

"""Finding the lines of a text that a compiled pattern matches, a block at a time.

Imports nothing but the standard library: the search worker runs it in a bare interpreter.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

BLOCK_BYTES = 256 * 1024
MATCHED_LINE_BYTES = 1024 * 1024
"""How much of one line a pattern is run over; the rest of a longer line is not matched."""
_NO_CHARACTER = b"\xff"


class MatchedLine(NamedTuple):
    """A line that matched: its 1-based number and its bytes without the line ending."""

    number: int
    text: bytes


def split_blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of `chunks` again, cut after newlines only; a block is as long as its longest line needs."""
    parts: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            parts.append(chunk)
            continue
        yield b"".join((*parts, chunk[:cut]))
        parts = [chunk[cut:]]
    rest = b"".join(parts)
    if rest:
        yield rest


def chunks_of(data: bytes) -> Iterator[bytes]:
    """`data` in pieces of `BLOCK_BYTES`."""
    for start in range(0, len(data), BLOCK_BYTES):
        yield data[start : start + BLOCK_BYTES]


def matched_lines(regex: Any, blocks: Iterable[bytes]) -> Iterator[MatchedLine | None]:
    """The lines of `blocks` that `regex` matches, and None after each block: a place to look at the time.

    `regex` searches bytes, never matches a newline and has line anchors (see `meka.agent.tools.patterns`).
    """
    first_number = 1
    for block in blocks:
        yield from _matched_in_block(regex, block.replace(b"\r\n", b"\n"), first_number)
        first_number += block.count(b"\n")
        yield None


def _matched_in_block(regex: Any, block: bytes, number: int) -> Iterator[MatchedLine]:
    at, size = 0, len(block)
    if size > BLOCK_BYTES + MATCHED_LINE_BYTES:
        yield from _matched_in_long_block(regex, block, number)
        return
    while at < size:
        match = regex.search(block, at)
        if match is None or (match.start() == size and block.endswith(b"\n")):
            return  # nothing, or the emptiness behind the last line's ending
        start = block.rfind(b"\n", at, match.start()) + 1 or at
        end = _line_end(block, match.end())
        number += block.count(b"\n", at, start)
        yield MatchedLine(number, block[start:end])
        number += 1
        at = end + 1


def _matched_in_long_block(regex: Any, block: bytes, number: int) -> Iterator[MatchedLine]:
    at, size = 0, len(block)
    while at < size:
        end = _line_end(block, at)
        if regex.search(_head_of_line(block, at, end)) is not None:
            yield MatchedLine(number, block[at:end])
        number += 1
        at = end + 1


def _head_of_line(block: bytes, at: int, end: int) -> bytes:
    """What a pattern is run over; a byte that nothing matches stands behind a cut, to keep `$` from it."""
    cut = at + MATCHED_LINE_BYTES
    return block[at:end] if end <= cut else block[at:cut] + _NO_CHARACTER


def _line_end(block: bytes, at: int) -> int:
    end = block.find(b"\n", at)
    return len(block) if end < 0 else end

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from meka.agent.tools.engine import compile_bytes
from meka.agent.tools.lines import matched_lines, split_blocks
from meka.agent.tools.textfiles import window_of

TEXTS = st.text("ab\n\r é", max_size=60)
PATTERNS = ["a", "^a", "a$", "^$", "$", "a*", "[^a]", "b.a", r"\s", "é+", r"^(a|b)*$", r"\bb"]


def naive_lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(text=TEXTS, pattern=st.sampled_from(PATTERNS), size=st.integers(1, 20))
def test_matched_lines_are_those_a_line_by_line_search_finds(text: str, pattern: str, size: int) -> None:
    lines = list(enumerate(naive_lines(text), 1))
    expected = [(number, line.encode()) for number, line in lines if re.search(pattern, line, re.ASCII)]
    blocks = split_blocks(pieces(text.encode(), size))
    found = [line for line in matched_lines(compile_bytes(pattern), blocks) if line is not None]
    assert [tuple(line) for line in found] == expected


@given(text=TEXTS, start=st.integers(1, 12), length=st.integers(0, 12), size=st.integers(1, 20))
def test_window_of_cuts_the_lines_it_was_asked_for(text: str, start: int, length: int, size: int) -> None:
    lines = naive_lines(text)
    window = window_of(pieces(text.encode(), size), Path("a"), start, start + length, lambda: False)
    assert window.total == len(lines)
    assert window.text == "\n".join(lines[start - 1 : start + length])


@given(text=TEXTS, size=st.integers(1, 20))
def test_split_blocks_loses_nothing_and_ends_every_block_but_the_last_with_a_newline(
    text: str, size: int
) -> None:
    blocks = list(split_blocks(pieces(text.encode(), size)))
    assert b"".join(blocks) == text.encode()
    assert all(block.endswith(b"\n") for block in blocks[:-1])

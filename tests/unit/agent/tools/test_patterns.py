import threading
import time

import pytest

from meka.agent.tools.base import ToolError
from meka.agent.tools.lines import BLOCK_BYTES, MATCHED_LINE_BYTES
from meka.agent.tools.patterns import LineRow, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "rows"),
    [
        ("b", "a\nb\nab\n", [(2, "b"), (3, "ab")]),
        ("^b$", "ab\nb\r\nb", [(2, "b"), (3, "b")]),
        ("", "a\n\nb", [(1, "a"), (2, ""), (3, "b")]),
        ("x*", "a\nx\n", [(1, "a"), (2, "x")]),
        (r"a\nb", "a\nb", []),
        (r"a[^x]b", "a\nb", []),
        (r"a\sb", "a\nb a b", [(2, "b a b")]),
        ("(?i)STRASSE|ü", "strasse\nfür", [(1, "strasse"), (2, "für")]),
        ("a.*a", "a a a a\na", [(1, "a a a a")]),
        ("x", "", []),
        ("$", "a", [(1, "a")]),
        ("^$", "a\n", []),
        ("^$", "a\n\n", [(2, "")]),
    ],
)
def test_pattern_matches_lines(pattern: str, text: str, rows: list[tuple[int, str]]) -> None:
    found = compile_pattern(pattern).matching_lines(text, 10)
    assert found.rows == tuple(LineRow(*row) for row in rows)
    assert found.total == len(rows)


def test_pattern_counts_lines_across_blocks() -> None:
    text = "".join(f"{number} {'x' * 1000}\n" for number in range(1, 1001))
    assert len(text) > 3 * BLOCK_BYTES
    found = compile_pattern("^(1|500|999) ").matching_lines(text, 2, first_number=11)
    assert [(row.number, row.text[:4]) for row in found.rows] == [(11, "1 xx"), (510, "500 ")]
    assert found.total == 3


def test_pattern_looks_at_the_start_of_a_very_long_line_only() -> None:
    text = "a\n" + "b" * (BLOCK_BYTES + 2 * MATCHED_LINE_BYTES) + "needle\nneedle\n"
    assert [row.number for row in compile_pattern("needle").matching_lines(text, 9).rows] == [3]
    assert compile_pattern("b+").matching_lines(text, 9).rows[0].number == 2
    assert compile_pattern(r"b+$").matching_lines(text, 9).total == 0


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "invalid pattern: missing ): ("),
        ("*", "invalid pattern: no argument for repetition operator: *"),
        (r"(a)\1", r"invalid pattern: invalid escape sequence: \1"),
        ("(?<=a)b", "invalid pattern: invalid perl operator: (?<"),
        ("a{1001}", "invalid pattern: invalid repetition size: {1001}"),
        (r"((\pL{100}){9}x){1}" * 20, "invalid pattern: pattern too large - compile failed"),
    ],
)
def test_compile_pattern_passes_on_the_engine_s_reason(pattern: str, reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        compile_pattern(pattern)
    assert str(caught.value).startswith(reason)


def test_compile_pattern_takes_lone_surrogates() -> None:
    assert compile_pattern("\ud800").matches_line("\ufffd")


def test_compile_pattern_hears_case_and_whole_text() -> None:
    assert compile_pattern("ABC", case_sensitive=False).matches_line("xabc")
    assert list(compile_pattern("a.*?b", whole_text=True).find_all("ab a\nb")) == ["ab"]
    assert list(compile_pattern(r"a\nb|x*", whole_text=True).find_all("a\nb xx")) == ["a\nb", "xx"]


def test_pattern_stops_when_it_is_told_to() -> None:
    with pytest.raises(ToolError, match="stopped"):
        compile_pattern("x").matching_lines("a\n", 1, is_stopped=lambda: True)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b$", "([a-z]+)*[0-9]$"])
def test_pattern_lets_others_run_and_answers_soon(pattern: str) -> None:
    """What takes a backtracking engine years: a second thread has to get its turns meanwhile."""
    text = "a" * 40 + "!\n" + "a" * 5_000_000 + "!\n"
    over = threading.Event()
    gaps: list[float] = []

    def watch() -> None:
        last = time.perf_counter()
        while not over.wait(0.001):
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        started = time.perf_counter()
        found = compile_pattern(pattern).matching_lines(text, 10)
        took = time.perf_counter() - started
    finally:
        over.set()
        watcher.join()
    assert found.total == 0
    assert took < 5
    assert max(gaps, default=0) < 1

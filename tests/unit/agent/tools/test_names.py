"""Near names."""

import pytest

from meka.agent.tools.names import near_names, typo_budget

NAMES = [
    "file_read", "file_write", "file_edit", "file_find", "file_search", "scratchpad_read",
    "scratchpad_delete",
    "memory_delete", "memory_read", "task_cancel", "task_list", "web_fetch", "shell_execute",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("read_file", "file_read"),
        ("ReadFile", None),
        ("file-read", "file_read"),
        ("FILE_READ", "file_read"),
        ("fiel_read", "file_read"),
        ("web_fetsh", "web_fetch"),
        ("shell", "shell_execute"),
        ("execute", "shell_execute"),
        ("webfetch", "web_fetch"),
        ("bash", None),
        ("", None),
        ("_", None),
    ],
)
def test_near_names_begins_with_what_was_meant(name: str, best: str | None) -> None:
    found = near_names(name, NAMES)
    assert (found[0] if found else None) == best


def test_near_names_are_at_most_three() -> None:
    assert len(near_names("file_open", NAMES)) == 3


def test_near_names_puts_destructive_ones_last() -> None:
    assert near_names("memory", ["memory_delete", "memory_write", "memory_read"])[-1] == "memory_delete"
    assert near_names("memory_delet", ["memory_delete", "memory_read"]) == ["memory_read", "memory_delete"]


def test_near_names_stay_quick_when_the_name_is_huge() -> None:
    assert near_names("x" * 1_000_000, NAMES * 100) == []


@pytest.mark.parametrize(
    ("word", "budget"), [("ab", 1), ("abcd", 1), ("abcde", 2), ("abcdefghi", 3), ("a" * 12, 4), ("a" * 40, 4)]
)
def test_typo_budget_grows_with_the_word(word: str, budget: int) -> None:
    assert typo_budget(word) == budget

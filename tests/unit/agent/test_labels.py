"""Which messages open a turn."""

from datetime import UTC, datetime
from typing import Any

import pytest

from meka.agent.blocks import Block, Inbox, Message, Nudge, Role, Text, ToolResult, ToolUse
from meka.agent.conversation import Entry
from meka.agent.labels import label_turns

ITEM = Inbox("[Message arrived]\nhi", "hi")


def entry(turn: str | None, role: Role, *blocks: Block, **meta: Any) -> Entry:
    return Entry(0, Message(role, blocks), datetime(2026, 1, 1, tzinfo=UTC), turn, meta or None)


def user(turn: str | None, *blocks: Block, **meta: Any) -> Entry:
    return entry(turn, Role.USER, *(blocks or (Text("go"),)), **meta)


def assistant(turn: str | None, *blocks: Block) -> Entry:
    return entry(turn, Role.ASSISTANT, *(blocks or (Text("ok"),)))


def test_what_follows_inside_a_turn_shares_its_label() -> None:
    entries = [
        user("a"), assistant("a", ToolUse("1", "t", {})), user("a", ToolResult("1", False, ()), ITEM),
        assistant("a"), user("a", ITEM), assistant("a"),
        user("a", Nudge("checklist", "go on")), assistant("a"),
        user("b", ITEM), assistant("b"),
    ]  # fmt: skip
    assert list(label_turns(entries)) == ["t_0001"] * 8 + ["t_0002"] * 2


def test_turns_that_were_not_answered_are_told_apart() -> None:
    assert list(label_turns([user("a"), user("b"), user("c")])) == ["t_0001", "t_0002", "t_0003"]


def test_summary_opens_nothing_and_the_tail_of_a_turn_neither() -> None:
    entries = [
        user(None, Text("summary"), compaction={"generation": 1}), assistant("a"), user("a", ITEM), user("b")
    ]  # fmt: skip
    assert list(label_turns(entries)) == ["", "", "", "t_0001"]


@pytest.mark.parametrize(
    ("blocks", "labels"),
    [
        ((Text("go"),), ["t_0001", "t_0002"]),
        ((ToolResult("1", False, ()),), ["t_0001", "t_0001"]),
        ((Nudge("checklist", "go on"),), ["t_0001", "t_0001"]),
    ],
)
def test_rows_that_name_no_turn_are_judged_by_their_blocks(
    blocks: tuple[Block, ...], labels: list[str]
) -> None:
    assert list(label_turns([user(None), user(None, *blocks)])) == labels

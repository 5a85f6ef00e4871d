"""`conversation_search` and `conversation_read`."""

import time
from pathlib import Path

import pytest

from meka.agent.blocks import Image, Inbox, Message, Role, Text, Thinking, ToolResult, ToolUse
from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.conversation import conversation_tools
from tests.fakes import make_context

SEARCH, READ = conversation_tools()
MESSAGES = [
    Message(Role.USER, (Text("Where is the KEY?\nnowhere"),)),
    Message(
        Role.ASSISTANT, (Thinking("secret key", "anthropic"), ToolUse("c1", "file_find", {"glob": "*.key"}))
    ),
    Message(
        Role.USER,
        (ToolResult("c1", False, (Text("a.key"), Image("image/png", "ff"))), Inbox("[x] hurry", "hurry")),
    ),
    Message(Role.ASSISTANT, (Text("In a.key"),)),
]


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path, messages=MESSAGES)


def rows(context: ToolContext, **arguments: object) -> list[str]:
    return [row for row in SEARCH.run(arguments, context).text.splitlines() if row.startswith("#")]


def test_conversation_search_finds_text_in_any_case(context: ToolContext) -> None:
    assert rows(context, query="key") == [
        "#1 [user] Where is the KEY?",
        '#2 [assistant] [call of file_find] {"glob": "*.key"}',
        "#3 [user] a.key",
        "#4 [assistant] In a.key",
    ]


def test_conversation_search_minds_the_case_of_a_regex(context: ToolContext) -> None:
    assert rows(context, query="KEY.$", is_regex=True) == ["#1 [user] Where is the KEY?"]


def test_conversation_search_counts_what_is_past_the_limit(context: ToolContext) -> None:
    text = SEARCH.run({"query": "key", "limit": 2}, context).text
    assert "first 2 of 4 matching lines in 4 messages" in text
    assert "conversation_read" in text


def test_conversation_search_says_so_when_nothing_matches(context: ToolContext) -> None:
    assert SEARCH.run({"query": "absent"}, context).text == "No line matches in 4 messages."


def test_conversation_search_refuses_a_bad_pattern(context: ToolContext) -> None:
    with pytest.raises(ToolError):
        SEARCH.run({"query": "(", "is_regex": True}, context)


def test_conversation_search_cuts_long_lines(tmp_path: Path) -> None:
    context = make_context(tmp_path, messages=[Message(Role.USER, (Text("x" * 1000),))])
    assert rows(context, query="x") == ["#1 [user] " + "x" * 197 + "..."]


def test_conversation_search_stays_quick_on_a_pattern_made_to_backtrack(tmp_path: Path) -> None:
    context = make_context(tmp_path, messages=[Message(Role.USER, (Text("a" * 40 + "b"),))])
    begun = time.perf_counter()
    assert rows(context, query="(a+)+$", is_regex=True) == []
    assert time.perf_counter() - begun < 5


def test_conversation_read_shows_one_message_by_default(context: ToolContext) -> None:
    assert READ.run({"start": 2}, context).text == (
        'Messages #2..#2 of 4\n\n#2 [assistant]\n[call of file_find] {"glob": "*.key"}'
    )


def test_conversation_read_shows_results_images_and_inbox(context: ToolContext) -> None:
    assert READ.run({"start": 3, "limit": 20}, context).text == (
        "Messages #3..#4 of 4\n\n#3 [user]\n[result]\na.key\n[image: image/png]\n[x] hurry"
        "\n\n#4 [assistant]\nIn a.key"
    )


def test_conversation_read_past_the_end_names_the_total(context: ToolContext) -> None:
    with pytest.raises(ToolError, match="has 4"):
        READ.run({"start": 5}, context)

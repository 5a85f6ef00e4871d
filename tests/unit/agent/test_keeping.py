"""What a compaction keeps word for word, and the estimates that it goes by."""

from datetime import UTC, datetime, timedelta

import pytest

from meka.agent.blocks import (
    Block,
    Image,
    Inbox,
    Message,
    Nudge,
    Role,
    Text,
    ToolResult,
    ToolUse,
    TurnContext,
)
from meka.agent.conversation import Entry
from meka.agent.keeping import choose, split, words_of
from meka.agent.occupancy import estimate_message, occupancy, verbatim_budget
from meka.agent.summary import shorten, summarizer_request

START = datetime(2026, 1, 1, tzinfo=UTC)


def view(*messages: tuple[Role, Block] | Entry) -> list[Entry]:
    return [
        each
        if isinstance(each, Entry)
        else Entry(seq, Message(each[0], (each[1],)), START + timedelta(minutes=seq), "t")
        for seq, each in enumerate(messages, 1)
    ]


def asked(text: str) -> tuple[Role, Block]:
    return Role.USER, Text(text)


def said(text: str) -> tuple[Role, Block]:
    return Role.ASSISTANT, Text(text)


CALLED: tuple[Role, Block] = (Role.ASSISTANT, ToolUse("1", "look", {}))
ANSWERED: tuple[Role, Block] = (Role.USER, ToolResult("1", False, (Text("seen"),)))
SUMMARY = Entry(9, Message(Role.USER, (Text("so far"),)), START, None, {"compaction": {"generation": 1}})
LONG = "x" * 4000


def test_unanswered_prompt_is_told_from_what_is_settled() -> None:
    entries = view(asked("a"), said("b"), asked("c"), asked("d"))
    parts = split(entries)
    assert (parts.settled, parts.asked) == (tuple(entries[:2]), tuple(entries[2:]))


def test_results_at_the_end_are_settled() -> None:
    entries = view(asked("a"), CALLED, ANSWERED)
    assert split(entries).settled == tuple(entries)


def test_summary_alone_or_a_prompt_alone_is_not_worth_a_compaction() -> None:
    assert not split(view(asked("a"))).is_worth_it
    assert not split([SUMMARY, *view(asked("a"))]).is_worth_it
    assert split([SUMMARY, *view(asked("a"), said("b"))]).is_worth_it


def test_tail_leaves_four_messages_to_summarize_and_begins_at_a_prompt_or_a_call() -> None:
    entries = view(asked("a"), said("b"), asked("c"), said("d"), said("e"), asked("f"), CALLED, ANSWERED)
    assert choose(entries, 1000, keep_tail=True).tail == tuple(entries[5:])
    entries = view(asked("a"), said("b"), asked("c"), said("d"), CALLED, ANSWERED)
    assert choose(entries, 1000, keep_tail=True).tail == tuple(entries[4:])
    assert choose(entries[:5], 1000, keep_tail=True).tail == tuple(entries[4:5])
    assert choose(entries[:4], 1000, keep_tail=True).tail == ()


def test_tail_has_two_thirds_of_the_budget() -> None:
    turns = [message for _ in range(6) for message in (asked(LONG), said("ok"))]
    entries = view(*turns)
    # A turn is estimated at 1,008 tokens.
    assert len(choose(entries, 3000, keep_tail=True).tail) == 2
    assert len(choose(entries, 3100, keep_tail=True).tail) == 4
    assert choose(entries, 4600, keep_tail=False).tail == ()


def test_quotes_are_the_newest_that_fit_in_the_order_they_were_written() -> None:
    entries = view(asked("first " + LONG), asked("second"), asked("third"), said("ok"))
    assert choose(entries, 300, keep_tail=False).quotes[1:] == ("second", "third")
    (cut, *_) = choose(entries, 300, keep_tail=False).quotes
    assert cut.startswith("first x")
    assert cut.endswith("... [cut]")
    assert len(cut) <= 400


def test_nothing_written_before_a_moment_is_kept() -> None:
    entries = view(asked("a"), said("b"), asked("c"), said("d"), asked("e"), said("f"), asked("g"), said("h"))
    kept = choose(entries, 1000, keep_tail=True, not_before=START + timedelta(minutes=7))
    assert (kept.tail, kept.quotes) == (tuple(entries[6:]), ())


def test_words_are_what_people_said() -> None:
    message = Message(
        Role.USER,
        (
            TurnContext("<context>"),
            Nudge("checklist", "go on"),
            Text("hello"),
            Inbox("[Message] psst", "psst"),
        ),
    )
    assert words_of(message) == "hello\npsst"
    assert words_of(Message(Role.ASSISTANT, (Text("hello"),))) == ""


@pytest.mark.parametrize(("window", "budget"), [(8_000, 4_000), (100_000, 10_000), (1_000_000, 16_000)])
def test_budget_is_a_tenth_of_the_window_within_bounds(window: int, budget: int) -> None:
    assert verbatim_budget(window) == budget


def test_estimate_counts_bytes_images_and_messages() -> None:
    assert estimate_message(Message(Role.USER, (Text("é" * 8),))) == 4 + 4
    assert estimate_message(Message(Role.USER, (Image("image/png", "0" * 64),))) == 4 + 1500


def test_measurement_reaches_up_to_the_last_reply() -> None:
    messages = [Message(role, (block,)) for role, block in (asked(LONG), said("ok"), asked("x" * 40))]
    assert occupancy(500, 100, messages, 1000).used == 500 + 14
    unmeasured = occupancy(0, 100, messages, 1000)
    assert unmeasured.used == 100 + sum(map(estimate_message, messages))
    assert unmeasured.is_above(85)


def test_long_texts_keep_their_beginning_and_end_for_the_summarizer() -> None:
    assert shorten("x" * 2000) == "x" * 2000
    short = shorten("a" * 1000 + "b" * 5000 + "c" * 500)
    assert short == "a" * 1000 + "\n[... 5000 characters ...]\n" + "c" * 500


def test_summarizer_reads_the_newest_messages_that_fit() -> None:
    messages = [Message(Role.USER, (Text(f"{number} {'x' * 400}"),)) for number in range(10)]
    text = summarizer_request(messages, "Be brief.", 350)
    assert "(7 earlier messages are left out)" in text
    assert "7 xxx" in text
    assert "6 xxx" not in text
    assert text.endswith("Be brief.")

"""The search index: what a query finds, in which order, how it is shown, and that it follows the log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from meka.store import messages, search, sessions
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.messages import LogRow, NewRow
from meka.store.migrations import MIGRATIONS
from meka.store.search import Hit
from tests.unit.store.support import SetClock, new_session

BEFORE_SEARCH = tuple(each for each in MIGRATIONS if each.number < 4)


def said(text: str, role: str = "user", **meta: Any) -> NewRow:
    return messages.message(role, [{"type": "text", "text": text}], meta=meta or None)


def tell(database: Database, session_id: str, *rows: NewRow, **fields: Any) -> Sequence[LogRow]:
    def unit(tx: Tx) -> Sequence[LogRow]:
        if sessions.get(tx, session_id) is None:
            new_session(tx, session_id, **fields)
        return messages.append(tx, session_id, *rows)

    return database.write(unit)


def find(database: Database, query: str, limit: int = 20, *, include_children: bool = False) -> list[Hit]:
    return database.search(lambda tx: search.find(tx, query, limit=limit, include_children=include_children))


def ids(hits: list[Hit]) -> list[str]:
    return [hit.session_id for hit in hits]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("running foxes", "run fox"), ("Café au lait", "CAFE"), ("cafe", "café"), ("cafe\u0301", "café"),
        ("Việt Nam, phở", "viet pho"), ("Größe", "grosse größe"), ("naïve ά", "naive α"), ("a-b.c", "b"),
        ("don't", "don"), ("東京都", "京都"), ("東京都", "都"), ("カタカナ", "タカ"), ("ภาษาไทย", "ไทย"),
        ("שָׁלוֹם", "שלום"), ("سَلَام", "سلام"), ("x_1 y", "x_1"), ("12345", "12345"), ("한국어 문장", "한국어"),
        ("E = mc² ½", "mc²"), ("first\nsecond line", "second first"),
    ],
)  # fmt: skip
def test_word_is_found_however_it_is_spelled(database: Database, text: str, query: str) -> None:
    tell(database, "s", said(text))
    tell(database, "other", said("nothing of it"))
    assert ids(find(database, query)) == ["s"]


def test_only_words_that_somebody_said_are_indexed(database: Database) -> None:
    result = [{"type": "text", "text": "result"}]
    user = [
        {"type": "turn_context", "text": "context"},
        {"type": "nudge", "kind": "checklist", "text": "nudge"},
        {"type": "inbox", "text": "header", "body": "letter"},
        {"type": "scheduled", "text": "fired", "job_id": "j", "prompt": "chore"},
        {"type": "background_report", "text": "report", "task_ids": []},
        {"type": "invocation", "text": "expanded", "kind": "skill", "name": "n", "directive": "order"},
        {"type": "resource", "text": "file", "uri": "u", "name": "attached"},
        {"type": "tool_result", "tool_use_id": "1", "is_error": False, "content": result},
    ]  # fmt: skip
    reply = [
        {"type": "thinking", "thinking": "thought", "backend": "b"},
        {"type": "tool_use", "id": "1", "name": "called", "input": {"argument": "argument"}},
    ]
    tell(database, "s", messages.message("user", user), messages.message("assistant", reply))
    for word in ("letter", "chore", "order"):
        assert ids(find(database, word)) == ["s"], word
    for word in (
        "context", "nudge", "header", "fired", "report", "expanded", "file", "attached", "result", "thought",
        "called", "argument",
    ):  # fmt: skip
        assert find(database, word) == [], word


def test_ladder_goes_no_further_than_it_has_to(database: Database) -> None:
    tell(database, "all", said("alpha beta"))
    tell(database, "beginnings", said("alphabet betamax"))
    tell(database, "any", said("alpha"))
    tell(database, "any beginning", said("betamax"))
    assert ids(find(database, "alpha beta")) == ["all"]
    assert set(ids(find(database, "alph bet"))) == {"all", "beginnings"}
    assert set(ids(find(database, "alpha gamma"))) == {"all", "any"}
    assert set(ids(find(database, "betam gamma"))) == {"beginnings", "any beginning"}
    assert find(database, "gamma delta") == []


def test_best_message_ranks_its_session(database: Database) -> None:
    tell(database, "often", said("falcon " * 8))
    tell(database, "once", said("a falcon " + "and much else besides " * 20))
    assert ids(find(database, "falcon")) == ["often", "once"]
    assert ids(find(database, "falcon", limit=1)) == ["often"]


def test_excerpt_is_the_line_of_most_words_cut_around_them(database: Database) -> None:
    tell(database, "s", said("a heron\n\n  a \t heron and   an egret \nan egret"))
    assert find(database, "heron egret") == [Hit("s", "a heron and an egret")]
    tell(database, "long", said("so " * 100 + "the ibis " + "and on " * 100))
    (hit,) = find(database, "ibis")
    assert hit.excerpt is not None
    assert len(hit.excerpt) <= search.EXCERPT_CHARACTERS + 2
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")
    assert "the ibis and on" in hit.excerpt
    tell(database, "summary", said("the bittern was seen", compaction={"generation": 1}))
    assert find(database, "bittern") == [Hit("summary", "(summary) the bittern was seen")]
    tell(database, "marks", said("\x02bold\x03 \x1fwords\x1f about\x00 a \ud800 crane"))
    assert find(database, "crane")[0].excerpt == "bold words about� a � crane"


def test_index_follows_every_kind_of_row(database: Database) -> None:
    first, second, third = tell(database, "s", said("heron"), said("egret"), said("ibis"))
    rows = {
        "withdrawal": messages.withdrawal([first.seq]),
        "repair": messages.repair({second.seq: [{"type": "text", "text": "stork"}]}),
        "boundary": messages.boundary([third.seq]),
    }
    tell(database, "s", *rows.values())
    assert [bool(find(database, word)) for word in ("heron", "egret", "stork", "ibis")] == [
        False, False, True, True,
    ]  # fmt: skip
    tell(database, "s", messages.rewind(third.seq, seqs=[third.seq]))
    assert find(database, "ibis") == []
    database.write(lambda tx: new_session(tx, "copy"))
    log = database.read(lambda tx: messages.load(tx, "s"))
    database.write(lambda tx: messages.replay(tx, "copy", log))
    assert set(ids(find(database, "stork"))) == {"s", "copy"}
    assert find(database, "heron") == find(database, "ibis") == []
    database.write(lambda tx: sessions.delete_tree(tx, "s"))
    assert ids(find(database, "stork")) == ["copy"]
    check_index(database)


def test_rewind_that_does_not_say_what_it_took_is_worked_out_in_a_replay(database: Database) -> None:
    rows = tell(database, "s", said("heron"), said("egret"))
    tell(database, "s", messages.rewind(rows[1].seq))
    database.write(lambda tx: new_session(tx, "copy"))
    log = database.read(lambda tx: messages.load(tx, "s"))
    database.write(lambda tx: messages.replay(tx, "copy", log))
    assert ids(find(database, "egret")) == ["s"]
    assert set(ids(find(database, "heron"))) == {"s", "copy"}


def check_index(database: Database) -> None:
    """Hold both indexes to their tables."""

    def unit(tx: Tx) -> None:
        for index in ("search_index", "title_index"):
            tx.sql(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")

    database.write(unit)


def test_title_that_holds_every_word_goes_first(database: Database) -> None:
    tell(database, "said", said("grebe grebe grebe"))
    tell(database, "titled", said("nothing"), title="The grebe")
    tell(database, "child", said("nothing"), title="A grebe", parent_id="said")
    assert find(database, "grebe") == [Hit("titled"), Hit("said", "grebe grebe grebe")]
    assert ids(find(database, "greb", include_children=True)) == ["child", "titled", "said"]
    database.write(lambda tx: sessions.change(tx, "titled", touch=False, title="Renamed"))
    assert ids(find(database, "grebe")) == ["said"]
    database.write(lambda tx: sessions.change(tx, "titled", touch=False, title=None))
    database.write(lambda tx: sessions.note_first_words(tx, "titled", "a  teal\nflies"))
    assert find(database, "teal") == [Hit("titled")]
    check_index(database)


def test_limit_counts_what_is_shown(database: Database) -> None:
    tell(database, "root", said("nothing"))
    for number in range(30):
        tell(database, f"child{number}", said("curlew " * 5), parent_id="root")
    for number in range(3):
        tell(database, f"s{number}", said("a curlew among others"))
    assert set(ids(find(database, "curlew", limit=3))) == {"s0", "s1", "s2"}


def test_store_from_before_is_indexed_when_it_is_opened(path: Path, clock: SetClock) -> None:
    with Database.open(path, clock=clock) as database:
        rows = tell(database, "s", said("heron"), said("egret"), said("ibis"))
        tell(database, "s", messages.rewind(rows[2].seq), title="Birds")
        database.write(lambda tx: sessions.change(tx, "s", touch=False, title="Birds"))
        database.write(_forget_the_index)
    with Database.open(path, clock=clock) as database:
        assert ids(find(database, "egret")) == ["s"]
        assert ids(find(database, "birds")) == ["s"]
        assert find(database, "ibis") == []
        check_index(database)


def _forget_the_index(tx: Tx) -> None:
    """Bring a store back to the schema that came before the index."""
    for table in ("search_index", "title_index", "search_texts", "search_titles", "profile_renames"):
        tx.sql(f"DROP TABLE {table}")
    tx.sql(f"PRAGMA user_version = {BEFORE_SEARCH[-1].number}")


@pytest.mark.timeout(20)
def test_very_long_message_of_one_word_is_found_and_shown_in_no_time(database: Database) -> None:
    tell(database, "s", said("lead " + "word é " * 200_000))
    (hit,) = find(database, "words")
    assert hit.excerpt is not None
    assert hit.excerpt.startswith("lead word é")
    (hit,) = find(database, "é nowhere")
    assert "é" in str(hit.excerpt)

"""The log: what is appended stays as it was, and each kind of row does to the view what it says."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meka.store import messages
from meka.store.database import Database
from meka.store.messages import LogKind, LogRow, NewRow, view
from tests.unit.store.support import START, SetClock, new_session


@pytest.fixture
def session(database: Database) -> str:
    database.write(lambda tx: new_session(tx, "s"))
    return "s"


def said(text: str) -> NewRow:
    return messages.message("user", [{"type": "text", "text": text}])


def log_of(*rows: NewRow) -> list[LogRow]:
    """Rows numbered from 1, as a store of their own would number them."""
    return [
        LogRow(seq, "s", row.kind, row.role, row.content, START, row.turn_id, row.meta)
        for seq, row in enumerate(rows, start=1)
    ]


def texts(rows: list[LogRow]) -> list[str]:
    return [row.content[0]["text"] for row in rows]


def seqs(rows: list[LogRow]) -> list[int]:
    return [row.seq for row in rows]


def test_appended_rows_come_back_as_they_were_stored(
    database: Database, session: str, clock: SetClock
) -> None:
    rows = [
        messages.message("user", [{"type": "text", "text": "ä"}], turn_id="t1", meta={"label": 1}),
        messages.message("assistant", [{"type": "tool_use", "input": {"n": [1, 2.5, None, True]}}]),
        messages.withdrawal([1], reason="client"),
    ]
    appended = database.write(lambda tx: messages.append(tx, session, *rows))
    clock.advance(seconds=1)
    appended += database.write(lambda tx: messages.append(tx, session, messages.rewind(before=2)))

    assert database.read(lambda tx: messages.load(tx, session)) == appended
    assert seqs(appended) == [1, 2, 3, 4]
    assert [row.kind for row in appended] == [
        LogKind.MESSAGE, LogKind.MESSAGE, LogKind.WITHDRAWAL, LogKind.REWIND,
    ]  # fmt: skip
    assert (appended[0].turn_id, appended[0].meta, appended[0].created_at) == ("t1", {"label": 1}, START)
    assert appended[3].created_at == START + timedelta(seconds=1)


def test_seq_rises_over_sessions_and_is_never_given_twice(database: Database, session: str) -> None:
    database.write(lambda tx: new_session(tx, "gone"))
    first = database.write(lambda tx: messages.append(tx, "gone", said("a"), said("b")))
    database.write(lambda tx: tx.sql("DELETE FROM sessions WHERE id = 'gone'"))
    then = database.write(lambda tx: messages.append(tx, session, said("c")))

    assert then[0].seq > first[-1].seq
    assert database.read(lambda tx: messages.load(tx, "gone")) == []


def test_imported_row_keeps_its_moment(database: Database, session: str) -> None:
    moment = START - timedelta(days=1)
    row = NewRow(role="user", created_at=moment)
    database.write(lambda tx: messages.append(tx, session, row))

    assert database.read(lambda tx: messages.load(tx, session))[0].created_at == moment


def test_text_that_cannot_be_stored_is_replaced_in_the_row_that_is_handed_back(
    database: Database, session: str
) -> None:
    dirty = messages.message("user", [{"type": "text", "text": "a\x00b\ud800c", "k\udfff": [float("nan")]}])
    appended = database.write(lambda tx: messages.append(tx, session, dirty))

    assert appended[0].content == [{"type": "text", "text": "a\ufffdb\ufffdc", "k\ufffd": [None]}]
    assert database.read(lambda tx: messages.load(tx, session)) == appended


def test_row_of_no_session_is_refused(database: Database) -> None:
    with pytest.raises(Exception, match="FOREIGN KEY"):
        database.write(lambda tx: messages.append(tx, "nobody", said("a")))


def test_replayed_log_adds_up_to_the_same_view_under_its_own_seqs(database: Database, session: str) -> None:
    database.write(lambda tx: new_session(tx, "fork"))
    origin = log_of(
        said("a"), said("b"), said("c"), messages.withdrawal([1, 77]), said("summary"),
        messages.boundary([5, 3]), said("d"), said("e"), messages.rewind(before=8, reason="client"),
        messages.repair({7: [{"type": "text", "text": "D"}]}),
    )  # fmt: skip
    database.write(lambda tx: messages.append(tx, session, said("elsewhere")))
    replayed = database.write(lambda tx: messages.replay(tx, "fork", origin))

    assert texts(view(replayed)) == texts(view(origin)) == ["summary", "c", "D"]
    assert database.read(lambda tx: messages.load(tx, "fork")) == replayed
    assert seqs(replayed) == list(range(2, 12))
    assert [row.created_at for row in replayed] == [row.created_at for row in origin]
    assert replayed[8].meta == {"before": 9, "reason": "client"}


def test_withdrawal_takes_out_the_named_ones() -> None:
    rows = log_of(said("a"), said("b"), said("c"), messages.withdrawal([1, 3]), said("d"))

    assert texts(view(rows)) == ["b", "d"]


@pytest.mark.parametrize("make", [messages.repair, messages.redaction])
def test_replaced_content_stands_in_the_same_place(make: "type[messages.repair]") -> None:
    rows = log_of(said("a"), said("b"), make({1: [{"type": "text", "text": "A"}]}), said("c"))
    seen = view(rows)

    assert texts(seen) == ["A", "b", "c"]
    assert seqs(seen) == [1, 2, 4]
    assert (seen[0].role, seen[0].created_at) == (rows[0].role, rows[0].created_at)


def test_boundary_starts_again_with_what_it_keeps_in_its_order() -> None:
    rows = log_of(
        said("a"), said("b"), said("c"), said("summary"), messages.boundary([4, 3]), said("d")
    )  # fmt: skip

    assert texts(view(rows)) == ["summary", "c", "d"]


def test_rewind_cuts_by_place_and_not_by_number() -> None:
    rows = log_of(
        said("a"), said("b"), said("summary"), messages.boundary([3, 2]), said("c"), messages.rewind(before=2)
    )

    assert texts(view(rows)) == ["summary"]


def test_conversation_goes_on_after_a_rewind() -> None:
    rows = log_of(said("a"), said("b"), messages.rewind(before=2), said("c"))

    assert texts(view(rows)) == ["a", "c"]


def test_rewrite_that_names_what_is_not_there_changes_nothing() -> None:
    rows = log_of(said("a"), said("b"), messages.withdrawal([1]))
    missing = (
        messages.withdrawal([1]), messages.rewind(before=1),
        messages.repair({1: []}), messages.boundary([2, 1]),
    )  # fmt: skip
    for rewrite in missing:
        row = LogRow(4, "s", rewrite.kind, None, [], START, None, rewrite.meta)
        assert view([*rows, row]) == view(rows)


def new_rows(seq: int) -> st.SearchStrategy[NewRow]:
    """Any row that may follow `seq` others, naming some that exist and some that do not."""
    some = st.lists(st.integers(1, seq + 2), unique=True, max_size=6)
    content = st.just([{"type": "text", "text": "replaced"}])
    return st.one_of(
        st.just(said(f"m{seq}")),
        st.just(said(f"m{seq}")),
        some.map(messages.withdrawal),
        some.map(messages.boundary),
        st.integers(1, seq + 2).map(messages.rewind),
        st.dictionaries(st.integers(1, seq + 2), content, max_size=3).map(messages.repair),
        st.dictionaries(st.integers(1, seq + 2), content, max_size=3).map(messages.redaction),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[LogRow]:
    count = draw(st.integers(0, 25))
    return log_of(*(draw(new_rows(seq)) for seq in range(count)))


@settings(deadline=None, max_examples=50)
@given(logs(), st.integers(0, 25))
def test_view_of_any_log_is_messages_once_each_and_can_be_gone_on_from(log: list[LogRow], split: int) -> None:
    whole = view(log)

    assert view(log[split:], onto=view(log[:split])) == whole
    assert len(set(seqs(whole))) == len(whole)
    by_seq = {row.seq: row for row in log}
    assert all(by_seq[row.seq].kind is LogKind.MESSAGE for row in whole)
    assert {row.kind for row in whole} <= {LogKind.MESSAGE}


@settings(deadline=None, max_examples=50)
@given(logs())
def test_message_at_the_end_of_any_log_is_the_last_of_the_view(log: list[LogRow]) -> None:
    last = LogRow(len(log) + 1, "s", LogKind.MESSAGE, "user", [], START)

    assert view([*log, last]) == [*view(log), last]


@settings(deadline=None, max_examples=50)
@given(logs())
def test_view_leaves_the_log_and_the_view_it_goes_on_from_alone(log: list[LogRow]) -> None:
    before = view(log)
    copy = list(before)
    view([LogRow(99, "s", LogKind.BOUNDARY, None, [], START, None, {"keep": []})], onto=before)

    assert before == copy == view(log)


def test_copied_log_is_the_replayed_one(database: Database, session: str) -> None:
    for name in ("replayed", "copied"):
        database.write(lambda tx, name=name: new_session(tx, name))  # type: ignore[misc]
    for text in ("a", "b", "c", "sum"):
        database.write(lambda tx, text=text: messages.append(tx, session, said(text)))  # type: ignore[misc]
    first, second, third, summary = (row.seq for row in database.read(lambda tx: messages.load(tx, session)))
    rewrites = (
        messages.withdrawal([second, 777]), messages.boundary([summary, third]), said("d"),
        messages.repair({third: [{"type": "text", "text": "C"}]}, joined=True),
        messages.rewind(before=summary + 3, seqs=[summary + 3]), said("e"),
    )  # fmt: skip
    database.write(lambda tx: messages.append(tx, session, *rewrites))
    log = database.read(lambda tx: messages.load(tx, session))
    database.write(lambda tx: messages.replay(tx, "replayed", log))
    database.write(lambda tx: messages.copy(tx, session, "copied"))
    replayed, copied = (
        database.read(lambda tx, name=name: messages.load(tx, name))  # type: ignore[misc]
        for name in ("replayed", "copied")
    )
    plain = [[(r.kind, r.role, r.content, r.created_at, r.turn_id, r.meta) for r in messages.numbered(each)]
             for each in (log, replayed, copied)]  # fmt: skip
    assert plain[0] == plain[1] == plain[2]
    assert texts(view(copied)) == texts(view(log)) == ["sum", "C", "e"]
    indexed = [
        database.read(
            lambda tx, name=name: tx.sql(  # type: ignore[misc]
                "SELECT text FROM search_texts WHERE session_id = ? ORDER BY seq", (name,)
            )
        )
        for name in (session, "replayed", "copied")
    ]
    assert indexed[0] == indexed[1] == indexed[2]
    assert first not in {row.seq for row in copied}

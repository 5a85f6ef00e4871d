"""What a reader of a session's feed is told first, and who may read it."""

import pytest

from meka.base.errors import (
    ScopeError,
    SessionNotDrivableError,
    SessionNotFoundError,
    SessionNotLoadedError,
    SubagentNotRunningError,
)
from meka.service.feed import Feed
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.streams import FeedReader, Streams, join
from tests.fakes import FakeClock
from tests.unit.service.support import (
    FIRST_ID,
    PARENT,
    SESSION,
    TURN,
    OneSession,
    Seen,
    make_runtime,
    open_turn,
    take,
)

READ, WRITE = frozenset({"sessions:r"}), frozenset({"sessions:r", "sessions:w"})


def rejoin(runtime: SessionRuntime, last_event_id: int | str | None) -> list[Seen]:
    given = None if last_event_id is None else str(last_event_id)
    return take(runtime.feed.attach(join(runtime, given)))


def begin(runtime: SessionRuntime) -> ActiveTurn:
    """A turn whose start (the first id) and opening (the second) readers were told of."""
    active = open_turn(runtime)
    runtime.emit("turn.started", {"source": "client", "started_at": "now"}, TURN)
    runtime.emit("message.appended", {"message": {"role": "user"}}, TURN)
    return active


def say(runtime: SessionRuntime, count: int) -> None:
    for _ in range(count):
        runtime.emit("assistant_text.delta", {"text": "x"}, TURN)


def shown(events: list[Seen]) -> list[tuple[str, bool]]:
    """Names of the first events, and whether each was made for the joiner."""
    return [(event.name, event.data.get("resumed", False)) for event in events[:4]]


RESUMED = [("turn.started", True), ("message.appended", True)]


def test_joiner_is_told_of_the_turn_and_handed_the_ring() -> None:
    runtime = make_runtime()
    begin(runtime)
    events = rejoin(runtime, None)
    assert shown(events) == [("turn.started", True), ("turn.started", False), ("message.appended", False)]
    resumed = events[0]
    assert resumed.id is None
    assert resumed.data == {"resumed": True, "source": "client", "session_id": SESSION, "turn_id": TURN}


def test_resumed_start_names_what_opened_the_turn() -> None:
    runtime = make_runtime()
    begin(runtime).turn.started_extra = {"item_ids": ["i"]}
    assert rejoin(runtime, None)[0].data["item_ids"] == ["i"]


def test_joiner_is_told_the_opening_when_the_ring_let_it_go() -> None:
    runtime = make_runtime(replay_events=2)
    begin(runtime)
    say(runtime, 3)
    events = rejoin(runtime, None)
    assert shown(events) == [*RESUMED, ("assistant_text.delta", False), ("assistant_text.delta", False)]
    message = events[1]
    assert message.id is None
    assert message.data["message"] == {
        "role": "user",
        "turn_id": TURN,
        "content": [{"type": "turn_context", "text": "<context></context>"}, {"type": "text", "text": "go"}],
    }


def test_reader_that_comes_back_from_before_the_opening_is_handed_it_by_the_replay() -> None:
    runtime = make_runtime()
    begin(runtime)
    events = rejoin(runtime, FIRST_ID)
    assert shown(events) == [("turn.started", True), ("message.appended", False)]


@pytest.mark.parametrize("position", [FIRST_ID + 1, FIRST_ID + 2])
def test_reader_that_comes_back_from_past_the_opening_is_not_handed_it_again(position: int) -> None:
    runtime = make_runtime()
    begin(runtime)
    say(runtime, 3)
    assert ("message.appended", True) not in shown(rejoin(runtime, position))
    assert ("message.appended", False) not in shown(rejoin(runtime, position))


def test_reader_that_comes_back_past_the_opening_is_not_handed_it_though_the_ring_let_it_go() -> None:
    runtime = make_runtime(replay_events=2)
    begin(runtime)
    say(runtime, 6)
    assert shown(rejoin(runtime, FIRST_ID + 2))[:2] == [("turn.started", True), ("feed.gap", False)]


@pytest.mark.parametrize("position", [FIRST_ID, "garbage", "-4", 12, 10**19])
def test_reader_from_before_the_opening_has_it_ahead_of_its_gap_when_the_ring_let_it_go(
    position: int | str,
) -> None:
    runtime = make_runtime(replay_events=2)
    begin(runtime)
    say(runtime, 6)
    assert shown(rejoin(runtime, position)) == [
        *RESUMED,
        ("feed.gap", False),
        ("assistant_text.delta", False),
    ]


@pytest.mark.parametrize(("position", "gap"), [(None, []), (FIRST_ID, [("feed.gap", False)])])
def test_reader_is_told_the_opening_where_nothing_is_replayed(
    position: int | None, gap: list[tuple[str, bool]]
) -> None:
    runtime = make_runtime(replay_events=0)
    begin(runtime)
    assert shown(rejoin(runtime, position)) == [*RESUMED, *gap]


def test_turn_that_nobody_was_told_of_yet_is_not_resumed() -> None:
    runtime = make_runtime()
    open_turn(runtime)
    assert rejoin(runtime, None) == []


def test_turn_whose_opening_is_still_to_come_is_resumed_without_it() -> None:
    runtime = make_runtime(replay_events=0)
    open_turn(runtime)
    runtime.emit("turn.started", {"source": "client"}, TURN)
    assert shown(rejoin(runtime, None)) == [("turn.started", True)]


def test_late_joiner_learns_how_the_last_turn_ended() -> None:
    runtime = make_runtime(replay_events=0)
    active = begin(runtime)
    runtime.free(active)
    runtime.emit("turn.finished", {"stop_reason": "end_turn"}, TURN)
    assert [event.name for event in rejoin(runtime, FIRST_ID)] == ["feed.gap", "turn.finished"]
    assert [event.name for event in rejoin(runtime, None)] == ["turn.finished"]


# Who may


def make_streams(runtime: SessionRuntime, *, loaded: bool) -> tuple[Streams, FakeClock]:
    clock = FakeClock()
    return Streams(OneSession(runtime, loaded=loaded), Feed(1, 256, {}), clock), clock


def open_feed(
    streams: Streams, scopes: frozenset[str], *, attend: bool = False, session_id: str = SESSION
) -> FeedReader:
    return streams.open_session(session_id, scopes, None, attend=attend)


def test_only_a_token_that_may_drive_the_session_loads_it() -> None:
    streams, _ = make_streams(make_runtime(), loaded=False)
    with pytest.raises(SessionNotLoadedError) as caught:
        open_feed(streams, READ)
    assert caught.value.members == {"session_id": SESSION}
    open_feed(streams, WRITE)
    open_feed(streams, READ)


def test_unknown_session_is_not_found_whatever_the_token() -> None:
    streams, _ = make_streams(make_runtime(), loaded=False)
    for scopes in (READ, WRITE):
        with pytest.raises(SessionNotFoundError):
            open_feed(streams, scopes, session_id=PARENT)


def test_attending_takes_the_scope_that_answers() -> None:
    runtime = make_runtime()
    streams, _ = make_streams(runtime, loaded=True)
    with pytest.raises(ScopeError, match="sessions:w"):
        open_feed(streams, READ, attend=True)
    assert runtime.feed.readers == 0


def test_reader_counts_while_it_is_there() -> None:
    runtime = make_runtime()
    streams, clock = make_streams(runtime, loaded=True)
    reader, other = open_feed(streams, WRITE, attend=True), open_feed(streams, READ)
    assert (runtime.attending, runtime.keepers, runtime.feed.readers) == (1, 1, 2)
    clock.advance(5)
    reader.close()
    reader.close()
    assert (runtime.attending, runtime.keepers, runtime.feed.readers) == (0, 0, 1)
    assert runtime.left_at == 5
    other.close()


@pytest.mark.parametrize("loaded", [True, False])
def test_sub_agents_feed_is_not_attended(loaded: bool) -> None:
    streams, _ = make_streams(make_runtime(parent_id=PARENT), loaded=loaded)
    with pytest.raises(SessionNotDrivableError, match=PARENT):
        open_feed(streams, WRITE, attend=True)


def test_sub_agent_that_does_not_run_here_has_no_feed_and_is_never_loaded() -> None:
    streams, _ = make_streams(make_runtime(parent_id=PARENT), loaded=False)
    for scopes in (READ, WRITE):
        with pytest.raises(SubagentNotRunningError, match=PARENT):
            open_feed(streams, scopes)

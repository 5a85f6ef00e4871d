"""The feed: ids, replay, holes, bounds, and readers that fall behind."""

import json
from collections.abc import Callable
from typing import Any

import gevent
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meka.service.feed import LIVE_WINDOW_EVENTS, Feed
from meka.service.frames import RING_BYTES, Opening
from meka.service.reader import Reader
from tests.unit.service.support import Seen, take

FIRST = 1_000
SESSION = {"session_id": "s"}


def make_feed(replay_events: int = 256) -> Feed:
    return Feed(FIRST, replay_events, SESSION)


def publish(feed: Feed, count: int = 1, text: str = "x", turn_id: str | None = "t") -> None:
    for _ in range(count):
        feed.publish("assistant_text.delta", {"text": text}, turn_id)


def finish(feed: Feed, turn_id: str = "t", name: str = "turn.finished") -> None:
    feed.publish(name, {}, turn_id, terminal=True)


def is_over(reader: Reader) -> bool:
    return reader.next_frames(0) is None


def rejoin(feed: Feed, last_event_id: str | None) -> list[Seen]:
    return take(feed.attach(feed.rejoin(last_event_id)))


def ids(events: list[Seen]) -> list[int]:
    return [event.id for event in events if event.id is not None]


def names(events: list[Seen]) -> list[str]:
    return [event.name for event in events]


# Numbers and replay


def test_ids_rise_by_one_from_the_first() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed, 3)
    assert ids(take(reader)) == [FIRST, FIRST + 1, FIRST + 2]


def test_payload_carries_session_and_turn_and_no_null() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    feed.publish("notice", {"text": "a", "level": None}, "t")
    feed.publish("session.updated", {"title": "b"})
    first, second = take(reader)
    assert first.data == {"text": "a", "session_id": "s", "turn_id": "t"}
    assert second.data == {"title": "b", "session_id": "s"}


def test_frame_has_the_form_of_server_sent_events() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    feed.publish("notice", {"text": "zwei\nZeilen \u2028 ü"}, "t")
    (frame,) = reader.next_frames(0) or []
    head, name, data, *rest = frame.decode().split("\n")
    assert (head, name, rest) == ("event: notice", f"id: {FIRST}", ["", ""])
    assert json.loads(data.removeprefix("data: "))["text"] == "zwei\nZeilen \u2028 ü"


def test_joiner_without_an_id_is_handed_the_ring_without_a_gap() -> None:
    feed = make_feed(replay_events=4)
    publish(feed, 10)
    events = rejoin(feed, None)
    assert ids(events) == [FIRST + 6, FIRST + 7, FIRST + 8, FIRST + 9]
    assert "feed.gap" not in names(events)


def test_reader_that_comes_back_is_handed_what_it_missed() -> None:
    feed = make_feed()
    publish(feed, 10)
    assert ids(rejoin(feed, str(FIRST + 6))) == [FIRST + 7, FIRST + 8, FIRST + 9]
    assert rejoin(feed, str(FIRST + 9)) == []


def test_hole_is_said_with_how_many_events_it_holds() -> None:
    feed = make_feed(replay_events=4)
    publish(feed, 10)
    gap, *rest = rejoin(feed, str(FIRST + 2))
    assert (gap.name, gap.id, gap.data) == ("feed.gap", None, {"session_id": "s", "dropped": 3})
    assert ids(rest) == [FIRST + 6, FIRST + 7, FIRST + 8, FIRST + 9]


@pytest.mark.parametrize(
    "never_issued",
    ["", "garbage", "-1", "0", "1e3", "½", "٣", "9" * 20, "9" * 5000, "1000.0", " 1000", "999", "1003"],
)
def test_id_that_was_never_issued_is_a_gap_of_unknown_size_and_the_whole_ring(never_issued: str) -> None:
    feed = make_feed()
    publish(feed, 3)
    gap, *rest = rejoin(feed, never_issued)
    assert (gap.name, gap.data) == ("feed.gap", {"session_id": "s"})
    assert ids(rest) == [FIRST, FIRST + 1, FIRST + 2]


def test_without_replay_a_joiner_gets_nothing_and_one_that_comes_back_a_gap() -> None:
    feed = make_feed(replay_events=0)
    publish(feed, 3)
    assert rejoin(feed, None) == []
    (gap,) = rejoin(feed, str(FIRST))
    assert gap.data["dropped"] == 2
    assert rejoin(feed, str(FIRST + 2)) == []


def test_reader_that_is_live_has_its_window_without_replay_too() -> None:
    feed = make_feed(replay_events=0)
    reader = feed.attach(feed.live())
    publish(feed, LIVE_WINDOW_EVENTS)
    assert ids(take(reader)) == list(range(FIRST, FIRST + LIVE_WINDOW_EVENTS))


# Endings


def test_ending_of_the_last_turn_is_handed_over_when_the_ring_let_it_go() -> None:
    feed = make_feed(replay_events=2)
    feed.publish("turn.started", {}, "t")
    finish(feed)
    publish(feed, 3, turn_id=None)
    ending = FIRST + 1
    gap, terminal, *rest = rejoin(feed, str(FIRST))
    assert (gap.name, terminal.name, terminal.id) == ("feed.gap", "turn.finished", ending)
    assert ids(rest) == [FIRST + 3, FIRST + 4]
    assert "turn.finished" not in names(rejoin(feed, str(ending)))
    assert names(rejoin(feed, None))[0] == "turn.finished"
    assert names(rejoin(feed, "garbage"))[:2] == ["feed.gap", "turn.finished"]


def test_ending_is_handed_over_once_when_the_ring_has_it() -> None:
    feed = make_feed()
    finish(feed)
    assert names(rejoin(feed, None)) == ["turn.finished"]


def test_ending_of_an_earlier_turn_is_not_handed_over_while_another_runs() -> None:
    feed = make_feed(replay_events=1)
    finish(feed, "t")
    feed.publish("turn.started", {}, "u")
    publish(feed, 3, turn_id="u")
    assert "turn.finished" not in names(rejoin(feed, None))


def test_reader_that_fell_behind_is_told_the_last_ending_that_its_hole_swallowed() -> None:
    feed = make_feed(replay_events=0)
    reader = feed.attach(feed.live())
    finish(feed)
    publish(feed, LIVE_WINDOW_EVENTS, turn_id=None)
    assert names(take(reader))[:2] == ["feed.gap", "turn.finished"]


# Streams of one turn


def test_stream_of_a_turn_has_that_turn_alone_and_ends_with_it() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id="t")
    publish(feed, 1, turn_id="u")
    publish(feed, 1, turn_id=None)
    feed.publish("session.updated", {}, "t", on_turn_stream=False)
    feed.publish("tool_call.output_delta", {}, "u", numbered=False)
    publish(feed, 1, turn_id="t")
    finish(feed, "u")
    finish(feed, "t")
    publish(feed, 1, turn_id="t")
    assert names(take(reader)) == ["assistant_text.delta", "turn.finished"]
    assert is_over(reader)


def test_stream_of_a_turn_has_its_terminal_when_the_feed_ends_at_once() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id="t")
    feed.publish("turn.started", {}, "t")
    feed.publish("turn.canceled", {"reason": "server_shutdown"}, "t", terminal=True)
    feed.end()
    assert names(take(reader)) == ["turn.started", "turn.canceled"]
    assert is_over(reader)


def test_stream_of_a_turn_that_left_no_ending_says_so() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id="t")
    publish(feed)
    feed.end()
    *_, last = take(reader)
    assert (last.name, last.id, last.data["turn_id"]) == ("turn.failed", None, "t")
    assert last.data["error"]["type"].endswith("/stream-detached")
    assert is_over(reader)


def test_stream_of_a_turn_has_its_terminal_though_the_ring_let_it_go() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id="t")
    publish(feed, 3)
    finish(feed)
    publish(feed, LIVE_WINDOW_EVENTS + 5, turn_id="u")
    assert names(take(reader)) == ["feed.gap", "turn.finished"]
    assert is_over(reader)


def test_detached_stream_that_fell_behind_goes_on_after_a_gap() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id="t")
    publish(feed, LIVE_WINDOW_EVENTS + 5)
    finish(feed)
    events = take(reader)
    assert events[0].data["dropped"] == 6
    assert events[-1].name == "turn.finished"
    assert len(events) == 1 + LIVE_WINDOW_EVENTS


class Lag:
    """Counts how often a turn was stopped for its reader."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def blocked(reader: Reader) -> Reader:
    """The reader as it stands while its last batch is being written."""
    assert reader.next_frames(0)
    assert reader.is_sending
    return reader


def test_sole_reader_of_a_held_turn_that_falls_behind_ends_with_it() -> None:
    feed, lag = make_feed(), Lag()
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)
    publish(feed)
    blocked(reader)
    publish(feed, LIVE_WINDOW_EVENTS)
    assert lag.count == 0
    publish(feed, 10)
    assert lag.count == 1
    feed.publish("turn.canceled", {"reason": "sse_lag"}, "t", terminal=True)
    (last,) = take(reader)
    assert (last.name, last.id, last.data["turn_id"]) == ("turn.failed", None, "t")
    assert last.data["error"]["type"].endswith("/sse-lag")
    assert "message_withdrawn" not in last.data
    assert is_over(reader)
    assert names(rejoin(feed, None))[-1] == "turn.canceled"


def test_held_turn_is_not_stopped_for_a_few_events_too_large_for_the_ring() -> None:
    feed, lag = make_feed(), Lag()
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)
    publish(feed)
    blocked(reader)
    publish(feed, 4, text="x" * (RING_BYTES // 2))
    finish(feed)
    assert lag.count == 0
    events = take(reader)
    assert (events[0].name, events[-1].name) == ("feed.gap", "turn.finished")


def test_held_turn_is_not_stopped_for_a_reader_that_falls_behind_beside_another() -> None:
    feed, lag = make_feed(), Lag()
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)
    other = feed.attach(feed.live())
    publish(feed)
    blocked(reader)
    publish(feed, LIVE_WINDOW_EVENTS + 9)
    assert lag.count == 0
    other.close()
    publish(feed)
    assert lag.count == 1


def test_held_stream_whose_turn_is_over_is_caught_up_and_stops_nothing() -> None:
    feed, lag = make_feed(), Lag()
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)
    publish(feed)
    blocked(reader)
    finish(feed)
    publish(feed, LIVE_WINDOW_EVENTS + 9, turn_id="u")
    assert lag.count == 0
    assert names(take(reader)) == ["feed.gap", "turn.finished"]


def test_reader_that_left_is_handed_nothing_more() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed)
    reader.close()
    reader.close()
    publish(feed)
    assert feed.readers == 0
    assert is_over(reader)


def test_reader_of_the_session_has_what_is_there_before_it_ends() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed, 3)
    feed.end()
    assert len(take(reader)) == 3
    assert is_over(reader)


# Progress without numbers


def test_progress_comes_in_its_place_and_is_never_replayed() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed)
    feed.publish("tool_call.output_delta", {"chunk": "a"}, "t", numbered=False)
    publish(feed)
    assert [event.id for event in take(reader)] == [FIRST, None, FIRST + 1]
    assert ids(rejoin(feed, None)) == [FIRST, FIRST + 1]
    assert len(rejoin(feed, None)) == 2


def test_progress_displaces_nothing_that_a_reader_could_come_back_for() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed)
    for _ in range(5_000):
        feed.publish("tool_call.output_delta", {"chunk": "a" * 100}, "t", numbered=False)
    events = take(reader)
    assert ids(events) == [FIRST]
    assert 0 < len(events) < 100
    assert ids(rejoin(feed, None)) == [FIRST]


# Prompts


def ask(feed: Feed, request_id: str) -> None:
    feed.publish("permission_required", {"request_id": request_id}, "t", request_id=request_id)


def test_prompt_is_replayed_only_while_it_is_parked() -> None:
    feed = make_feed()
    ask(feed, "a")
    ask(feed, "b")
    feed.close_prompt("a")
    assert [event.data["request_id"] for event in rejoin(feed, None)] == ["b"]


def test_live_reader_is_shown_a_prompt_that_was_closed_before_it_came_to_it() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    ask(feed, "a")
    feed.close_prompt("a")
    assert names(take(reader)) == ["permission_required"]


@pytest.mark.parametrize("last_event_id", [None, str(FIRST), str(FIRST + 2), "garbage"])
def test_parked_prompt_is_handed_once_to_whoever_joins(last_event_id: str | None) -> None:
    feed = make_feed(replay_events=1)
    publish(feed)
    ask(feed, "a")
    publish(feed, 2)
    assert names(rejoin(feed, last_event_id)).count("permission_required") == 1


@pytest.mark.parametrize("turn_id", [None, "t"])
def test_parked_prompt_outlives_the_hole_that_swallowed_it(turn_id: str | None) -> None:
    feed = make_feed()
    reader = feed.attach(feed.live(), turn_id=turn_id)
    ask(feed, "a")
    publish(feed, LIVE_WINDOW_EVENTS + 1)
    assert names(take(reader))[:2] == ["feed.gap", "permission_required"]


# Bounds, and readers that block


def test_ring_is_bounded_in_bytes() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed)
    blocked(reader)
    publish(feed, 12, text="x" * (RING_BYTES // 8))
    assert feed.next_id - feed.oldest_replayed_id < 8
    gap, *rest = take(reader)
    assert gap.name == "feed.gap"
    assert gap.data["dropped"] + len(rest) == 12


def test_event_larger_than_the_ring_reaches_who_is_there_and_is_lost_to_replay_alone() -> None:
    feed = make_feed()
    seen: list[int] = []
    reader = feed.attach(feed.live())
    follower = gevent.spawn(follow, reader, seen)
    publish(feed, 3)
    publish(feed, 2, text="x" * (RING_BYTES + 1))
    publish(feed)
    feed.end()
    follower.join(5)
    assert seen == list(range(FIRST, FIRST + 6))
    gap, *rest = rejoin(feed, str(FIRST))
    assert (gap.data["dropped"], ids(rest)) == (4, [FIRST + 5])


def follow(reader: Reader, seen: list[int]) -> None:
    while (frames := reader.next_frames(1)) is not None:
        seen.extend(ids([Seen(frame) for frame in frames]))


def test_burst_of_a_publisher_that_never_waits_loses_no_reader_that_could_read() -> None:
    feed, lag = make_feed(), Lag()
    seen: list[int] = []
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)
    follower = gevent.spawn(follow, reader, seen)
    publish(feed, 2_000)
    finish(feed)
    follower.join(5)
    assert seen == list(range(FIRST, FIRST + 2_001))
    assert lag.count == 0


def test_reader_whose_socket_was_full_for_a_moment_gets_to_write_during_a_burst() -> None:
    feed, lag = make_feed(), Lag()
    seen: list[int] = []
    reader = feed.attach(feed.live(), turn_id="t", on_lag=lag)

    def write_slowly() -> None:
        while (frames := reader.next_frames(1)) is not None:
            gevent.sleep(1e-6)
            seen.extend(ids([Seen(frame) for frame in frames]))

    writer = gevent.spawn(write_slowly)
    publish(feed, 1_000)
    finish(feed)
    writer.join(5)
    assert seen == list(range(FIRST, FIRST + 1_001))
    assert lag.count == 0


def test_stalled_readers_cost_a_live_one_nothing_and_wake_to_a_gap() -> None:
    feed = make_feed()
    stalled = [feed.attach(feed.live()) for _ in range(20)]
    publish(feed)
    for reader in stalled:
        blocked(reader)
    seen: list[int] = []
    live = feed.attach(feed.live())
    follower = gevent.spawn(follow, live, seen)
    publish(feed, 5_000)
    feed.end()
    follower.join(10)
    assert seen == list(range(FIRST + 1, FIRST + 5_001))
    for reader in stalled:
        gap, *rest = take(reader)
        assert gap.data["dropped"] + len(rest) == 5_000
        assert len(rest) == LIVE_WINDOW_EVENTS


def test_waiting_reader_is_woken_by_an_event_and_by_its_end() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    waiting = gevent.spawn(reader.next_frames, 30)
    gevent.idle()
    publish(feed)
    assert len(waiting.get(timeout=5)) == 1
    waiting = gevent.spawn(reader.next_frames, 30)
    gevent.idle()
    reader.close()
    assert waiting.get(timeout=5) is None


def test_observers_see_each_event_as_it_is_sent() -> None:
    feed = make_feed()
    seen: list[tuple[str, Any]] = []
    feed.observers.append(lambda name, payload: seen.append((name, payload)))
    feed.publish("notice", {"text": "a"}, "t")
    assert seen == [("notice", {"text": "a", "session_id": "s", "turn_id": "t"})]


def test_opening_puts_what_is_told_first_ahead() -> None:
    assert Opening((b"b",), 7).after([b"a"]) == Opening((b"a", b"b"), 7)


# Whatever happens, in any order


class Client:
    """A client that follows a feed, leaves, and comes back with the last id it was given."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.last: int | None = None
        self.reader = feed.attach(feed.rejoin(None))
        self.begins = self.expected = self.reader.position

    def read(self) -> None:
        for event in take(self.reader):
            self._take(event)

    def _take(self, event: Seen) -> None:
        if event.name == "feed.gap":
            dropped = event.data.get("dropped")
            assert dropped is None or dropped > 0
            self.expected = self.begins if dropped is None else self.expected + dropped
        elif event.id is not None and self._is_next(event):
            self.last, self.expected = event.id, event.id + 1

    def _is_next(self, event: Seen) -> bool:
        if event.name == "turn.finished" and event.id != self.expected:
            assert event.id is not None
            assert event.id < self.expected, "an ending handed over comes from the hole"
            return False
        assert event.id == self.expected, f"{event} where #{self.expected} was due"
        return True

    def resume(self, make_id: Callable[[int | None], str | None]) -> None:
        self.reader.close()
        given = make_id(self.last)
        issued = self.feed.issued(given)
        self.reader = self.feed.attach(self.feed.rejoin(given))
        self.begins = self.reader.position
        self.expected = self.begins if given is None else -1 if issued is None else issued + 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 150)),
        st.tuples(st.just("large"), st.integers(1, 3)),
        st.tuples(st.just("finish"), st.just(0)),
        st.tuples(st.just("progress"), st.integers(1, 100)),
        st.tuples(st.just("read"), st.integers(0, 2)),
        st.tuples(st.just("resume"), st.integers(0, 2)),
        st.tuples(st.just("forget"), st.integers(0, 2)),
        st.tuples(st.just("garble"), st.integers(0, 2)),
    ),
    max_size=30,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(replay_events=st.sampled_from([0, 1, 7, 256, 400]), steps=STEPS)
def test_every_reader_sees_each_event_in_order_or_is_told_of_the_hole(
    replay_events: int, steps: list[tuple[str, int]]
) -> None:
    feed = make_feed(replay_events)
    clients = [Client(feed) for _ in range(3)]
    for action, number in steps:
        perform(feed, clients, action, number)
    for client in clients:
        client.read()
        assert client.expected == feed.next_id


def perform(feed: Feed, clients: list[Client], action: str, number: int) -> None:
    match action:
        case "publish":
            publish(feed, number)
        case "large":
            publish(feed, number, text="x" * (RING_BYTES // 2))
        case "finish":
            finish(feed)
        case "progress":
            for _ in range(number):
                feed.publish("tool_call.output_delta", {}, "t", numbered=False)
        case "read":
            clients[number].read()
        case "resume":
            clients[number].resume(lambda last: None if last is None else str(last))
        case "forget":
            clients[number].resume(lambda _last: None)
        case "garble":
            clients[number].resume(lambda last: f"{last}x")


# Readers in step


def test_readers_in_step_are_handed_the_same_events_wherever_they_stand() -> None:
    feed = make_feed()
    early = feed.attach(feed.live())
    publish(feed, 2)
    late = feed.attach(feed.live())
    publish(feed, 3)
    assert ids(take(early)) == list(range(FIRST, FIRST + 5))
    assert ids(take(late)) == list(range(FIRST + 2, FIRST + 5))
    publish(feed)
    assert ids(take(early)) == ids(take(late)) == [FIRST + 5]


def test_reader_in_step_is_told_of_a_hole() -> None:
    feed = make_feed()
    reader, _beside = feed.attach(feed.live()), feed.attach(feed.live())
    publish(feed, LIVE_WINDOW_EVENTS + 3)
    events = take(reader)
    assert names(events)[0] == "feed.gap"
    assert ids(events) == list(range(FIRST + 3, FIRST + 3 + LIVE_WINDOW_EVENTS))


def test_reader_in_step_gets_progress_in_its_place() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed)
    feed.publish("tool_call.output_delta", {"chunk": "x"}, "t", numbered=False)
    publish(feed)
    assert [event.id for event in take(reader)] == [FIRST, None, FIRST + 1]


def test_batch_ends_at_its_bytes_and_goes_on_where_it_ended() -> None:
    feed = make_feed()
    reader = feed.attach(feed.live())
    publish(feed, 10, text="x" * 20_000)
    first = reader.next_frames(0)
    assert first is not None
    assert len(first) == 4
    assert ids(take(reader)) == list(range(FIRST + 4, FIRST + 10))

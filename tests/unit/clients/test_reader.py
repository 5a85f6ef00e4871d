"""The stream reader against a server of a script: drops, gaps, positions and refusals."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from meka_client.models import FeedGapEvent, TextDeltaEvent
from meka_client_stream import (
    Event,
    ProblemError,
    Reconnect,
    StreamLostError,
    follow_server,
    follow_session,
    run_turn,
)

SESSION = "0189e5a0-0000-7000-8000-00000000000a"
TURN = "0189e5a0-0000-7000-8000-00000000000b"
FEED = f"/v1/sessions/{SESSION}/stream"

Step = Callable[[], httpx.Response]


class Body(httpx.SyncByteStream):
    """Chunks, then the end of the body or an error."""

    def __init__(self, chunks: list[bytes], error: Exception | None) -> None:
        self._chunks = chunks
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        if self._error is not None:
            raise self._error


def stream(*chunks: bytes, drop: Exception | None = None) -> Step:
    headers = {"Content-Type": "text/event-stream"}
    return lambda: httpx.Response(200, headers=headers, stream=Body(list(chunks), drop))


def refusal(status: int, **problem: Any) -> Step:
    return lambda: httpx.Response(status, json={"title": "No", "detail": "not so", **problem})


def fails(error: Exception) -> Step:
    def step() -> httpx.Response:
        raise error

    return step


def event(name: str, number: int | None = None, **data: Any) -> bytes:
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def delta(number: int, text: str, turn_id: str = TURN) -> bytes:
    return event("assistant_text.delta", number, session_id=SESSION, turn_id=turn_id, text=text)


DROP = httpx.ReadError("connection reset")
STARTED = event("turn.started", 1, session_id=SESSION, turn_id=TURN)
FINISHED = event("turn.finished", 9, session_id=SESSION, turn_id=TURN)
GONE = refusal(404, type="https://meka.run/errors/session-not-found")


@dataclass
class Server:
    """Answers each request with the next step; the pauses between them are noted, not waited for."""

    steps: list[Step]
    requests: list[httpx.Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self._answer), base_url="http://meka")

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.steps.pop(0)()

    def reconnect(self, **settings: Any) -> Reconnect:
        return Reconnect(sleep=self.pauses.append, jitter=lambda: 0.0, **settings)

    @property
    def positions(self) -> list[str | None]:
        return [request.headers.get("Last-Event-ID") for request in self.requests]


def read_until_refused(server: Server, **options: Any) -> list[Event]:
    """What a feed brings until the script's server refuses."""
    events: list[Event] = []
    with server.client() as client:
        feed = follow_session(client, SESSION, reconnect=server.reconnect(), **options)
        with pytest.raises(ProblemError):
            # In place, so that what came before the refusal is there.
            events.extend(feed)
    return events


def texts(events: list[Event]) -> list[str]:
    return [each.data["text"] for each in events if "text" in each.data]


def test_feed_is_taken_up_again_behind_the_last_whole_event() -> None:
    cut = delta(6, "half")
    server = Server([stream(delta(5, "a"), cut[:-9], drop=DROP), stream(delta(6, "half"), drop=DROP), GONE])
    assert texts(read_until_refused(server)) == ["a", "half"]
    assert server.positions == [None, "5", "6"]
    assert {request.url.path for request in server.requests} == {FEED}


def test_feed_starts_behind_the_position_it_is_given() -> None:
    server = Server([stream(event("notice", text="no id")), GONE])
    read_until_refused(server, last_event_id="41")
    assert server.positions == ["41", "41"]


def test_event_without_an_id_leaves_the_position_alone() -> None:
    output = event("tool_call.output_delta", None, turn_id=TURN, chunk="x")
    server = Server([stream(delta(5, "a"), output, drop=DROP), GONE])
    assert [each.id for each in read_until_refused(server)] == ["5", None]
    assert server.positions == [None, "5"]


def test_feed_is_attended_only_where_that_is_asked_for() -> None:
    server = Server([GONE])
    read_until_refused(server)
    assert dict(server.requests[0].url.params) == {}
    server = Server([GONE])
    read_until_refused(server, attend=True)
    assert dict(server.requests[0].url.params) == {"attend": "true"}


def test_gap_is_seen_by_the_caller() -> None:
    gap = event("feed.gap", None, session_id=SESSION, dropped=12)
    server = Server([stream(delta(5, "a"), drop=DROP), stream(gap, delta(18, "b")), GONE])
    events = read_until_refused(server)
    assert [each.is_gap for each in events] == [False, True, False]
    typed = events[1].typed()
    assert isinstance(typed, FeedGapEvent)
    assert typed.dropped == 12
    assert server.positions == [None, "5", "18"]


def test_event_is_typed_by_its_name() -> None:
    typed = read_until_refused(Server([stream(delta(5, "a")), GONE]))[0].typed()
    assert isinstance(typed, TextDeltaEvent)
    assert (typed.text, str(typed.turn_id)) == ("a", TURN)


def test_event_of_a_newer_server_is_handed_on_untyped() -> None:
    events = read_until_refused(Server([stream(event("brand.new", 5, x=1)), GONE]))
    assert (events[0].name, events[0].data) == ("brand.new", {"x": 1})
    with pytest.raises(KeyError):
        events[0].typed()


def test_pause_doubles_until_an_event_comes() -> None:
    down = fails(httpx.ConnectError("refused"))
    server = Server([down, down, down, stream(delta(5, "a"), drop=DROP), down, GONE])
    read_until_refused(server)
    assert server.pauses == [1.0, 2.0, 4.0, 1.0, 2.0]


def test_pause_is_what_the_server_asks_for() -> None:
    busy = refusal(503, retry_after=40)
    server = Server([stream(b"retry: 3000\n\n", drop=DROP), stream(), busy, GONE])
    read_until_refused(server)
    assert server.pauses == [3.0, 6.0, 40.0]


def test_pause_has_a_longest_and_a_jitter() -> None:
    server = Server([fails(httpx.ConnectTimeout("slow"))] * 4 + [GONE])
    reconnect = Reconnect(1.0, 3.0, sleep=server.pauses.append, jitter=lambda: 1.0)
    with server.client() as client, pytest.raises(ProblemError):
        list(follow_session(client, SESSION, reconnect=reconnect))
    assert server.pauses == [1.25, 2.5, 3.75, 3.75]


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429])
def test_feed_stops_when_the_server_refuses(status: int) -> None:
    server = Server([refusal(status, type="https://meka.run/errors/some")])
    with server.client() as client, pytest.raises(ProblemError, match="not so") as caught:
        list(follow_server(client, reconnect=server.reconnect()))
    assert (caught.value.status, caught.value.type) == (status, "https://meka.run/errors/some")
    assert (len(server.requests), server.pauses) == (1, [])
    assert server.requests[0].url.path == "/v1/stream"


def test_feed_stops_at_an_answer_that_is_no_stream() -> None:
    server = Server([lambda: httpx.Response(200, html="<p>a proxy's page</p>")])
    with server.client() as client, pytest.raises(ProblemError) as caught:
        list(follow_server(client, reconnect=server.reconnect()))
    assert (caught.value.status, caught.value.problem) == (200, {})


def test_failure_is_raised_when_attempts_run_out() -> None:
    server = Server([fails(httpx.ConnectError("refused"))] * 3)
    with server.client() as client, pytest.raises(httpx.ConnectError):
        list(follow_server(client, reconnect=server.reconnect(attempts=2)))
    server = Server([refusal(503)] * 3)
    with server.client() as client, pytest.raises(ProblemError):
        list(follow_server(client, reconnect=server.reconnect(attempts=2)))
    server = Server([stream()] * 3)
    with server.client() as client, pytest.raises(StreamLostError):
        list(follow_server(client, reconnect=server.reconnect(attempts=2)))


def test_connection_is_closed_when_the_caller_stops_reading() -> None:
    closed: list[bool] = []

    class Noted(Body):
        def close(self) -> None:
            closed.append(True)

    headers = {"Content-Type": "text/event-stream"}
    body = Noted([delta(5, "a"), delta(6, "b")], None)
    server = Server([lambda: httpx.Response(200, headers=headers, stream=body)])
    with server.client() as client:
        events = follow_session(client, SESSION)
        next(events)
        events.close()  # type: ignore[attr-defined]
    assert closed == [True]


def read_turn(server: Server, into: list[Event]) -> None:
    with server.client() as client:
        into.extend(run_turn(client, SESSION, {"message": "hello"}, reconnect=server.reconnect()))


def names(events: list[Event]) -> list[str]:
    return [each.name for each in events]


def test_turn_is_read_to_its_terminal() -> None:
    server, events = Server([stream(STARTED, delta(2, "a"), FINISHED, drop=DROP)]), list[Event]()
    read_turn(server, events)
    assert names(events) == ["turn.started", "assistant_text.delta", "turn.finished"]
    assert json.loads(server.requests[0].content) == {"message": "hello", "stream": True}


@pytest.mark.parametrize("drop", [DROP, httpx.ReadTimeout("silent"), None])
def test_turn_is_taken_up_on_the_feed_and_submitted_once(drop: Exception | None) -> None:
    other = delta(4, "of another turn", turn_id=SESSION)
    steps = [
        stream(STARTED, delta(2, "a"), drop=drop),
        stream(delta(3, "b"), other, FINISHED, delta(10, "x")),
    ]
    server, events = Server(steps), list[Event]()
    read_turn(server, events)
    assert texts(events) == ["a", "b"]
    assert names(events)[-1] == "turn.finished"
    assert [request.method for request in server.requests] == ["POST", "GET"]
    assert server.positions == [None, "2"]
    assert server.pauses == [1.0]


def test_turn_that_was_refused_raises_its_problem() -> None:
    server = Server([refusal(503, retry_after=1)])
    with pytest.raises(ProblemError) as caught:
        read_turn(server, [])
    assert (caught.value.status, len(server.requests)) == (503, 1)


def test_turn_whose_line_drops_before_its_first_event_is_not_submitted_again() -> None:
    server = Server([stream(b"retry: 3000\n\n", drop=DROP)])
    with pytest.raises(httpx.ReadError):
        read_turn(server, [])
    server = Server([stream()])
    with pytest.raises(StreamLostError):
        read_turn(server, [])
    assert len(server.requests) == 1


def lost_with(record: dict[str, Any]) -> Server:
    """The server was started again; `record` is what it says of the turn."""
    return Server(
        [
            stream(STARTED, drop=DROP),
            stream(event("feed.gap"), FINISHED),
            lambda: httpx.Response(200, json={"id": TURN, **record}),
        ]
    )


def test_turn_that_ended_while_its_stream_was_lost_is_not_waited_for() -> None:
    server, events = lost_with({"ended_at": "2026-01-01T00:00:00Z", "status": "failed"}), list[Event]()
    with pytest.raises(StreamLostError) as caught:
        read_turn(server, events)
    assert caught.value.turn_id == TURN
    assert names(events) == ["turn.started", "feed.gap"]
    assert server.requests[-1].url.path == f"/v1/sessions/{SESSION}/turns/{TURN}"


def test_turn_that_still_runs_behind_a_gap_is_read_on() -> None:
    server, events = lost_with({}), list[Event]()
    read_turn(server, events)
    assert names(events) == ["turn.started", "feed.gap", "turn.finished"]

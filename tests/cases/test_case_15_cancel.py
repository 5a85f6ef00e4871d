"""Case 15: cancel sent twice, and cancel sent when idle."""

import threading
import time
from pathlib import Path

from tests.cases.support import Feed, cancel, detach, slug, turns_of
from tests.serving import Server, say

SOON_SECONDS = 3.0
RACES = 30


def test_cancel_answers_at_once_twice_and_when_idle(tmp_path: Path) -> None:
    endless = [{"type": "text", "text": "x"}, {"type": "sleep", "ms": 60_000}]
    with Server(tmp_path, [endless, say("fine")]) as server:
        client = server.client()
        session = client.session()
        started = time.monotonic()
        assert cancel(client, session).status_code == 204
        with Feed(client, session) as feed:
            turn = detach(client, session)
            feed.wait_for("assistant_text.delta")
            answers = [cancel(client, session, each) for each in (turn, turn, None)]
            assert [answer.status_code for answer in answers] == [204] * 3
            feed.wait_for("turn.canceled")
            answers = [cancel(client, session, each) for each in (turn, None)]
            assert [answer.status_code for answer in answers] == [204] * 2
        assert time.monotonic() - started < SOON_SECONDS
        terminals = [
            name for name in feed.names() if name in ("turn.canceled", "turn.finished", "turn.failed")
        ]
        assert terminals == ["turn.canceled"]
        assert client.turn(session).json()["stop_reason"] == "end_turn"
        assert [record["status"] for record in turns_of(client, session)] == ["canceled", "succeeded"]


def test_cancel_that_races_the_end_leaves_one_truth(tmp_path: Path) -> None:
    rounds = [[{"type": "text", "text": "a"}, {"type": "sleep", "ms": 15}, *say("b")] for _ in range(RACES)]
    with Server(tmp_path, rounds) as server:
        client, other = server.client(), server.client()
        session = client.session()
        with Feed(client, session) as feed:
            for number in range(RACES):
                pause = threading.Event()
                told = threading.Thread(
                    target=lambda delay=number / 1000, pause=pause: (
                        pause.wait(delay),
                        cancel(other, session),
                    )
                )
                told.start()
                answer = client.turn(session)
                told.join(20)
                record = turns_of(client, session)[-1]
                terminals = [
                    event
                    for event in list(feed.events)
                    if event.name in ("turn.finished", "turn.canceled", "turn.failed")
                ]
                if answer.status_code == 200:
                    assert (record["status"], record["stop_reason"]) == ("succeeded", "end_turn")
                else:
                    assert (answer.status_code, slug(answer)) == (409, "turn-canceled")
                    assert record["status"] == "canceled"
                    assert "stop_reason" not in record
                feed.wait_for("turn.finished" if answer.status_code == 200 else "turn.canceled")
        terminals = [
            event for event in feed.events if event.name in ("turn.finished", "turn.canceled", "turn.failed")
        ]
        statuses = {record["id"]: record["status"] for record in turns_of(client, session)}
        expected = {"succeeded": "turn.finished", "canceled": "turn.canceled"}
        assert {event.data["turn_id"]: event.name for event in terminals} == {
            turn_id: expected[status] for turn_id, status in statuses.items()
        }
        assert len(terminals) == RACES

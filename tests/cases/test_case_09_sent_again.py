"""Case 9: a client times out and sends the same Idempotency-Key again."""

from pathlib import Path
from typing import Any

import pytest
import requests

from tests.cases.support import Feed, slug, turns_of, words
from tests.serving import Client, Server, say


def post(
    client: Client, session: str, message: str = "go", timeout: float = 30, **body: Any
) -> requests.Response:
    return client.call(
        "POST",
        f"/v1/sessions/{session}/turn",
        json={"message": message, **body},
        headers={"Idempotency-Key": "the-key"},
        timeout=timeout,
    )


def test_turn_whose_client_timed_out_is_answered_from_what_it_came_to(tmp_path: Path) -> None:
    with Server(tmp_path, [[{"type": "sleep", "ms": 1200}, *say("once")], say("twice")]) as server:
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed:
            with pytest.raises(requests.Timeout):
                post(client, session, timeout=0.3)
            early = post(client, session)
            assert (early.status_code, slug(early)) == (409, "idempotency")
            feed.wait_for("turn.finished")
        again = [post(client, session) for _ in range(3)]
        assert [answer.status_code for answer in again] == [200] * 3
        assert len({answer.content for answer in again}) == 1
        assert words(again[0].json()["messages"]) == ["go", "once"]
        other = post(client, session, "something else")
        assert (other.status_code, slug(other)) == (409, "idempotency")
        assert [record["id"] for record in turns_of(client, session)] == [again[0].json()["turn_id"]]
        assert words(client.messages(session)) == ["go", "once"]


def test_detached_turn_sent_again_is_the_same_turn(tmp_path: Path) -> None:
    with Server(tmp_path, [[{"type": "sleep", "ms": 300}, *say("once")], say("twice")]) as server:
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed:
            answers = [post(client, session, detach=True) for _ in range(4)]
            feed.wait_for("turn.finished")
        answers.append(post(client, session, detach=True))
        assert [answer.status_code for answer in answers] == [202] * 5
        assert len({answer.content for answer in answers}) == 1
        assert [record["id"] for record in turns_of(client, session)] == [answers[0].json()["id"]]
        other = post(client, session, "something else", detach=True)
        assert (other.status_code, slug(other)) == (409, "idempotency")
        assert words(client.messages(session)) == ["go", "once"]

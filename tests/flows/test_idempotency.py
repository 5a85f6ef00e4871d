"""A turn sent again with its Idempotency-Key, over the wire: it ran once, and is answered the same bytes."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.serving import Client, Server, say


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Server(tmp_path, [say("one"), say("two"), say("three")]) as server:
        yield server.client()


def post(client: Client, session_id: str, key: str, **body: object) -> requests.Response:
    return client.call(
        "POST",
        f"/v1/sessions/{session_id}/turn",
        json={"message": "go", **body},
        headers={"Idempotency-Key": key},
    )


def turn_ids(client: Client, session_id: str) -> list[str]:
    turns = client.call("GET", f"/v1/sessions/{session_id}/turns").json()["turns"]
    return [turn["id"] for turn in turns]


def head(answer: requests.Response) -> tuple[int, str, str | None]:
    return answer.status_code, answer.headers["Content-Type"], answer.headers.get("Location")


def test_held_turn_sent_again_is_answered_the_same_bytes(client: Client) -> None:
    session_id = client.session()
    first, second = post(client, session_id, "k"), post(client, session_id, "k")
    assert first.status_code == 200, first.text
    assert (head(first), first.content) == (head(second), second.content)
    assert len(turn_ids(client, session_id)) == 1
    other = post(client, session_id, "k", message="something else")
    assert (other.status_code, other.json()["type"]) == (409, "https://meka.run/errors/idempotency")


def test_detached_stream_sent_again_is_answered_its_record(client: Client) -> None:
    session_id = client.session()
    first = post(client, session_id, "k", detach=True, stream=True)
    assert "event: turn.finished" in first.text
    second = post(client, session_id, "k", detach=True, stream=True)
    (turn_id,) = turn_ids(client, session_id)
    location = f"/v1/sessions/{session_id}/turns/{turn_id}"
    assert head(second) == (202, "application/json", location)
    assert second.json()["id"] == turn_id


def test_key_sent_by_many_at_once_runs_one_turn(client: Client) -> None:
    session_id = client.session()
    answers: list[requests.Response] = []
    threads = [
        threading.Thread(target=lambda: answers.append(post(Client(client.base_url), session_id, "k")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(turn_ids(client, session_id)) == 1
    kinds = {(answer.status_code, answer.json().get("type")) for answer in answers}
    assert kinds <= {(200, None), (409, "https://meka.run/errors/idempotency")}
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1

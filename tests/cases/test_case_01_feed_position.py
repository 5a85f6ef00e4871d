"""Case 1: a feed is opened with a Last-Event-ID that is garbage, negative, huge or older than the ring."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.support import Feed
from tests.serving import Client, Server, say

REPLAYED = 8
NEVER_ISSUED = (
    "garbage",
    "-1",
    "0",
    "1",
    "1.5",
    "0x10",
    "9" * 19,
    "9" * 4000,
    "+5",
    "%00",
    "\u0661\u0662",
    "1 2",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root: Path = tmp_path_factory.mktemp("feed")
    with Server(
        root, [say(f"answer {n}") for n in range(100)], f"stream_replay_events = {REPLAYED}"
    ) as server:
        yield server.client()


def ids_of_a_turn(client: Client, session: str) -> list[int]:
    return [event.id for event in client.stream(session) if event.id is not None]


@pytest.mark.parametrize("position", NEVER_ISSUED)
def test_position_never_issued_is_a_gap_and_then_the_live_feed(client: Client, position: str) -> None:
    session = client.session()
    issued = ids_of_a_turn(client, session)
    with Feed(client, session, params={"last_event_id": position}) as feed:
        assert "dropped" not in feed.wait_for("feed.gap").data
        ids_of_a_turn(client, session)
        feed.wait_for("turn.finished", 2)
    assert feed.names()[0] == "feed.gap"
    assert feed.names().count("feed.gap") == 1
    numbers = [event.id for event in feed.events if event.id is not None]
    assert numbers == list(range(issued[-1] - len(numbers) + len(issued) + 1, issued[-1] + len(issued) + 1))
    assert numbers[0] <= issued[0]


@pytest.mark.parametrize("position", ["garbage", "-7", "9" * 30])
def test_position_in_the_header_is_judged_the_same(client: Client, position: str) -> None:
    session = client.session()
    ids_of_a_turn(client, session)
    for path in (session, None):
        with Feed(client, path, headers={"Last-Event-ID": position}) as feed:
            assert "dropped" not in feed.wait_for("feed.gap").data
            ids_of_a_turn(client, session)
            feed.wait_for("turn.started", 1)
        assert feed.names()[0] == "feed.gap"


def test_position_older_than_the_ring_is_told_exactly_what_is_lost(client: Client) -> None:
    session = client.session()
    issued = [number for _ in range(6) for number in ids_of_a_turn(client, session)]
    with Feed(client, session, headers={"Last-Event-ID": str(issued[0])}) as feed:
        dropped = feed.wait_for("feed.gap").data["dropped"]
        ids_of_a_turn(client, session)
        feed.wait_for("turn.started", 2 if REPLAYED > 5 else 1)
        feed.wait_for("turn.finished", 3 if feed.names()[1] == "turn.finished" else 2)
    numbers = [event.id for event in feed.events if event.id is not None]
    assert dropped == len(issued) - 1 - REPLAYED
    assert numbers[0] == issued[0] + dropped + 1
    assert numbers == sorted(set(numbers))


def test_position_at_the_newest_event_has_no_gap(client: Client) -> None:
    session = client.session()
    newest = ids_of_a_turn(client, session)[-1]
    with Feed(client, session, headers={"Last-Event-ID": str(newest)}) as feed:
        ids_of_a_turn(client, session)
        feed.wait_for("turn.finished")
    assert "feed.gap" not in feed.names()
    assert next(event.id for event in feed.events if event.id is not None) == newest + 1

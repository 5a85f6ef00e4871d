"""Case 2: a burst of deltas and tool events; ids are unique and strictly rising."""

from pathlib import Path
from typing import Any

from tests.cases.support import Feed
from tests.serving import Event, Server, say, use

DELTAS = 700
CALLS = 20


def numbered(events: list[Event]) -> list[int]:
    return [event.id for event in events if event.id is not None]


def test_ids_rise_by_one_through_a_burst_of_deltas_and_calls(tmp_path: Path) -> None:
    deltas: list[dict[str, Any]] = [{"type": "text", "text": f"{n} "} for n in range(DELTAS)]
    calls = use(*((f"c{n}", "shell_execute", {"command": f"echo {n}"}) for n in range(CALLS)))
    with Server(tmp_path, [[*deltas, *calls], [*deltas, *say("end")], say("again")]) as server:
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed, Feed(client, session) as other:
            told = list(client.stream(session))
            told += client.stream(session)
            for each in (feed, other):
                each.wait_for("turn.finished", 2)
    ids = numbered(told)
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    assert numbered(feed.events) == numbered(other.events) == ids
    names = [event.name for event in told]
    said = "".join(event.data["text"] for event in told if event.name == "assistant_text.delta")
    assert said == "".join(f"{n} " for n in range(DELTAS)) * 2 + "end" + "again"
    for name in ("tool_call.composing", "tool_call.executing", "tool_call.completed"):
        assert names.count(name) == CALLS
    completed = [event.data["id"] for event in told if event.name == "tool_call.completed"]
    assert completed == [f"c{n}" for n in range(CALLS)]
    assert "feed.gap" not in names

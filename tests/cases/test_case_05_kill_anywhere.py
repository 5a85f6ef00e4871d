"""Case 5: kill -9 at many points of turns with tools."""

import random
import signal
import threading
from pathlib import Path
from typing import Any

import requests

from tests.cases.support import INTERRUPTED, check_pairs, results, turns_of, words
from tests.serving import Client, Server, say, use

KILLS = 9
TURNS = 12


def script() -> list[list[dict[str, Any]]]:
    """Turns of three rounds: two calls at once, one that writes a file, words."""
    turn = [
        use(
            ("a", "shell_execute", {"command": "sleep 0.03; echo a"}),
            ("b", "file_find", {"glob": "*"}),
        ),
        use(("c", "file_write", {"path": "out.txt", "content": "x"})),
        [{"type": "text", "text": "par"}, {"type": "sleep", "ms": 20}, *say("tial")],
    ]
    return turn * TURNS


def run_until_killed(server: Server, client: Client, session: str, delay: float) -> int:
    """How many turns were answered before the server was killed, `delay` seconds into them."""
    answered = 0
    killer = threading.Timer(delay, server.process.kill)
    killer.start()
    try:
        while answered < TURNS and client.turn(session, "work").status_code == 200:
            answered += 1
    except requests.RequestException:
        pass
    killer.join()
    server.stop(signal.SIGKILL)
    return answered


def _check_edits(client: Client, session: str, history: list[dict[str, Any]]) -> None:
    """A copy is whole, can be cut back to any turn, and leaves its source as it is."""
    copy = client.call("POST", f"/v1/sessions/{session}/fork", json={})
    assert copy.status_code == 201, copy.text
    path = f"/v1/sessions/{copy.json()['id']}"
    assert client.messages(copy.json()["id"]) == history
    turns = len({message["turn_label"] for message in history})
    drop = turns // 2
    rewound = client.call("POST", f"{path}/rewind", json={"turns": drop})
    assert rewound.status_code == 200, rewound.text
    assert rewound.json()["turns_removed"] == drop
    left = client.messages(copy.json()["id"])
    assert left == history[: len(left)]
    assert len({message["turn_label"] for message in left}) == turns - drop
    assert client.messages(session) == history
    assert client.call("DELETE", path).status_code == 204


def test_history_is_whole_after_each_kill(tmp_path: Path) -> None:
    chance = random.Random(5)
    server = Server(tmp_path, script())
    server.start()
    session = server.client().session()
    promised = 0
    for number in range(KILLS):
        client = server.client()
        before = client.messages(session)
        promised += run_until_killed(server, client, session, chance.uniform(0.01, 0.4))
        server.rounds = [say(f"after {number}"), *script()]
        server.start()
        client = server.client()
        found = client.messages(session)
        assert found[: len(before)] == before
        answer = client.turn(session, f"again {number}")
        assert answer.status_code == 200, answer.text
        promised += 1
        history = client.messages(session)
        check_pairs(history)
        assert history[: len(found)] == found
        assert words(history)[-2:] == [f"again {number}", f"after {number}"]
        records = turns_of(client, session)
        succeeded = [record["id"] for record in records if record.get("status") == "succeeded"]
        assert len(succeeded) >= promised, "an answered turn is lost"
        assert len({record["id"] for record in records}) == len(records)
        shown = list(dict.fromkeys(message["turn_id"] for message in history))
        assert shown == [record["id"] for record in records]
        _check_edits(client, session, history)
        for message in history:
            assert all(not failed or text == INTERRUPTED for _, failed, text in results(message))
    assert server.stop() == 0

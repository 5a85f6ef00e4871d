"""A server that is killed at any moment: nothing it answered for is lost, doubled or left half-done."""

import json
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.loopback_provider import LoopbackProvider, Received
from tests.serving import Client, Server, say, use
from tests.upstream import upstream_server

SESSIONS = 4
POSTERS = 2
QUIET_SECONDS = 60.0
_CLASSES = ("steer", "followup", "interrupt")


class Brain:
    """The model: calls tools at random, and holds every request to the pairing of calls and results."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._calls = 0
        self.faults: list[str] = []
        self.calms = False

    def __call__(self, received: Received) -> Sequence[Mapping[str, Any]]:
        messages = received.body["messages"]
        with self._lock:
            self.faults.extend(pairing_faults(messages))
            pause = {"type": "sleep", "ms": self._random.randrange(40)}
            if self.calms or self._random.random() < (0.6 if messages[-1]["role"] == "tool" else 0.3):
                return [{"type": "text", "text": "well "}, pause, *say("done")]
            calls = [self._call() for _ in range(self._random.choice((1, 1, 2)))]
        return [pause, *use(*calls)]

    def _call(self) -> tuple[str, str, dict[str, Any]]:
        self._calls += 1
        command = {"command": f"sleep 0.0{self._random.randrange(10)}; echo {self._calls}"}
        written = {"name": f"note {self._calls}", "content": "x" * self._random.randrange(200)}
        name, given = self._random.choice((("shell_execute", command), ("scratchpad_write", written)))
        return f"call_{self._calls}", name, given


def pairing_faults(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where calls and results of a request do not pair: each call answered once, before all else."""
    faults, owed = [], []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in owed:
                owed.remove(message["tool_call_id"])
            else:
                faults.append(f"a result without its call: {message['tool_call_id']}")
            continue
        if owed:
            faults.append(f"calls without results: {owed}")
        owed = [call["id"] for call in message.get("tool_calls") or ()]
    return faults + ([f"calls without results at the end: {owed}"] if owed else [])


@dataclass
class Load:
    """What was sent: acknowledged, or broken off, which may have arrived or not."""

    server: Server
    sessions: Sequence[str]
    items: dict[str, tuple[str, str]] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)
    uncertain: set[str] = field(default_factory=set)
    stop: threading.Event = field(default_factory=threading.Event)

    def post(self, seed: int) -> None:
        """One poster's life."""
        rng, number = random.Random(seed), 0
        while not self.stop.is_set():
            number += 1
            session, words = rng.choice(self.sessions), f"<{seed}-{number}>"
            try:
                if rng.random() < 0.6:
                    self._post_item(session, words, rng.choice(_CLASSES))
                else:
                    self._post_turn(session, words)
            except requests.RequestException:
                self.uncertain.add(words)
                self.stop.wait(0.05)
            self.stop.wait(rng.random() * 0.05)

    def _post_item(self, session: str, words: str, class_: str) -> None:
        answer = self.server.client().call(
            "POST",
            f"/v1/sessions/{session}/inbox",
            json={"message": words, "class": class_},
            headers={"Idempotency-Key": words},
        )
        assert answer.status_code == 202, answer.text
        self.items[words] = session, class_

    def _post_turn(self, session: str, words: str) -> None:
        answer = self.server.client().turn(session, words, detach=True)
        assert answer.status_code in (202, 409), answer.text
        if answer.status_code == 202:
            self.turns[words] = session


def kill_at_random_moments(server: Server, load: Load, kills: int, seed: int) -> None:
    """Let the posters work, and kill the server under them."""
    rng = random.Random(seed)
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            load.post(number)
        except BaseException as error:
            failures.append(error)

    posters = [threading.Thread(target=guarded, args=(seed * 100 + number,)) for number in range(POSTERS)]
    for poster in posters:
        poster.start()
    try:
        for _ in range(kills):
            time.sleep(rng.uniform(0.05, 0.8))
            server.stop(signal.SIGKILL)
            server.start()
    finally:
        load.stop.set()
        for poster in posters:
            poster.join(60)
    assert not failures, failures


def wait_until_quiet(client: Client, sessions: Sequence[str]) -> None:
    """Wait until no turn runs and no item waits."""
    deadline = time.monotonic() + QUIET_SECONDS
    for session in sessions:
        while True:
            record = client.call("GET", f"/v1/sessions/{session}").json()
            items = client.call("GET", f"/v1/sessions/{session}/inbox").json()["items"]
            if not record["turn_in_flight"] and not [item for item in items if item["state"] == "pending"]:
                break
            assert time.monotonic() < deadline, (record, items)
            time.sleep(0.05)


def whole_history(client: Client, session: str) -> list[dict[str, Any]]:
    """Every message of a session, page by page."""
    found: list[dict[str, Any]] = []
    while True:
        page = client.call(
            "GET", f"/v1/sessions/{session}/messages", params={"limit": 1000, "offset": len(found)}
        ).json()
        found += page["messages"]
        if len(found) >= page["total"]:
            return found


def words_in(history: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """How often each message that was sent stands in a history."""
    return Counter(
        block.get("body") or block["text"]
        for message in history
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] in ("text", "inbox")
    )


def check_everything(server: Server, load: Load, brain: Brain) -> None:
    """What must hold once it is quiet again."""
    client = server.client()
    wait_until_quiet(client, load.sessions)
    brain.calms = True
    counts: dict[str, Counter[str]] = {}
    for session in load.sessions:
        assert client.turn(session, "the last one").status_code == 200
        history = whole_history(client, session)
        labels = [int(message["turn_label"].removeprefix("t_")) for message in history]
        assert labels == sorted(labels)
        counts[session] = words_in(history)
    for words, (session, class_) in load.items.items():
        answer = client.call(
            "POST",
            f"/v1/sessions/{session}/inbox",
            json={"message": words, "class": class_},
            headers={"Idempotency-Key": words},
        ).json()
        assert (answer["replayed"], answer["state"]) == (True, "delivered"), answer
        assert counts[session][words] == 1, (words, class_, counts[session][words])
    for words, session in load.turns.items():
        assert counts[session][words] == 1, (words, counts[session][words])
    for words in load.uncertain:
        assert sum(count[words] for count in counts.values()) <= 1, words
    assert brain.faults == []


def check_store(root: Path) -> None:
    """The store as SQLite and as a stranger sees it."""
    store = sqlite3.connect(root / "data" / "meka.db")
    try:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert store.execute("PRAGMA foreign_key_check").fetchall() == []
        for (content,) in store.execute("SELECT content FROM messages"):
            json.loads(content)
    finally:
        store.close()


@pytest.mark.parametrize(
    ("kills", "seed"),
    [(8, 1), pytest.param(100, 2, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])],
    ids=["short", "long"],
)
def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path, kills: int, seed: int) -> None:
    brain = Brain(seed)
    with LoopbackProvider(default=brain) as upstream:
        with upstream_server(tmp_path, upstream) as server:
            client = server.client()
            sessions = [client.session(permission="unrestricted") for _ in range(SESSIONS)]
            load = Load(server, sessions)
            kill_at_random_moments(server, load, kills, seed)
            assert load.items
            assert load.turns
            check_everything(server, load, brain)
        check_store(tmp_path)

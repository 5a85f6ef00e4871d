"""Case 4: a cancel in the middle of a tool call, then another message."""

from pathlib import Path

import pytest

from tests.cases.support import (
    BACKENDS,
    INTERRUPTED,
    Feed,
    cancel,
    check_pairs,
    detach,
    eventually,
    kinds,
    processes_with,
    results,
    sent_pairs,
    turns_of,
    wired_server,
)
from tests.loopback_provider import LoopbackProvider
from tests.serving import say, use

CALLS = use(
    ("c1", "shell_execute", {"command": "echo quick"}),
    ("c2", "shell_execute", {"command": "sleep 4004.25"}),
    ("c3", "shell_execute", {"command": "sleep 4004.25", "timeout_ms": 10**9}),
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_next_request_pairs_every_call_after_a_cancel(tmp_path: Path, backend: str) -> None:
    with (
        LoopbackProvider([CALLS, say("fine")]) as upstream,
        wired_server(tmp_path, upstream, backend) as server,
    ):
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed:
            first = detach(client, session)
            feed.wait_for("tool_call.completed")
            eventually(lambda: len(processes_with("4004.25")) >= 2, "both commands run")
            assert cancel(client, session, first).status_code == 204
            feed.wait_for("turn.canceled")
        eventually(lambda: processes_with("4004.25") == [], "the commands are gone")
        second = client.turn(session, "another")
        assert second.status_code == 200, second.text
        assert second.json()["stop_reason"] == "end_turn"
        history = client.messages(session)
        records = turns_of(client, session)
        received = upstream.requests
    check_pairs(history)
    assert kinds(history) == [
        ("user", ("turn_context", "text")),
        ("assistant", ("tool_use",) * 3),
        ("user", ("tool_result",) * 3),
        ("user", ("turn_context", "text")),
        ("assistant", ("text",)),
    ]
    assert results(history[2]) == [
        ("c1", False, "quick\n"), ("c2", True, INTERRUPTED), ("c3", True, INTERRUPTED)
    ]  # fmt: skip
    assert [record["status"] for record in records] == ["canceled", "succeeded"]
    assert len(received) == 2
    assert len(sent_pairs(received[1])) == 3

"""Case 6: SIGTERM, and kill -9, while a shell command with children runs."""

import signal
from pathlib import Path

import pytest

from tests.cases.support import (
    INTERRUPTED,
    Feed,
    check_pairs,
    children_of,
    detach,
    eventually,
    processes_with,
    results,
    turns_of,
)
from tests.serving import Server, say, use

FAMILY = (
    "sleep 6006.{n} & setsid sleep 6006.{n} & (trap '' TERM HUP; sleep 6006.{n}) & nohup sleep 6006.{n}; wait"
)


@pytest.mark.parametrize("level", ["workspace", "unrestricted"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_command_outlives_the_server(tmp_path: Path, how: signal.Signals, level: str) -> None:
    marker = f"6006.{how.value}{'1' if level == 'workspace' else '2'}"
    command = FAMILY.replace("6006.{n}", marker)
    rounds = [use(("c1", "shell_execute", {"command": command, "timeout_ms": 10**8})), say("after")]
    with Server(tmp_path, rounds) as server:
        client = server.client()
        session = client.session(permission=level)
        with Feed(client, session) as feed:
            turn = detach(client, session)
            feed.wait_for("tool_call.executing")
            eventually(lambda: len(processes_with(f"sleep\0{marker}")) == 4, "the family is there")
            family = children_of(server.process.pid)
            code = server.stop(how)
        assert code == (0 if how is signal.SIGTERM else -signal.SIGKILL)
        if how is signal.SIGTERM:
            assert processes_with(marker) == []
        else:
            eventually(lambda: processes_with(marker) == [], "the family is gone")
        eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family), "the launcher is gone")
        server.rounds = [say("after")]
        server.start()
        client = server.client()
        answer = client.turn(session, "what happened?")
        assert answer.status_code == 200, answer.text
        history = client.messages(session)
        records = turns_of(client, session)
    check_pairs(history)
    assert results(history[2]) == [("c1", True, INTERRUPTED)]
    assert sum(len(results(message)) for message in history) == 1
    assert records[0]["id"] == turn
    assert records[0].get("status") == ("canceled" if how is signal.SIGTERM else None)
    assert processes_with(marker) == []

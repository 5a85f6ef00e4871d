"""Case 7: two parallel tool calls, one of them denied by the person."""

from pathlib import Path

import pytest

from tests.cases.support import check_pairs, results
from tests.serving import Server, say, use

CALLS = use(
    ("first", "file_write", {"path": "one.txt", "content": "1"}),
    ("second", "file_write", {"path": "two.txt", "content": "2"}),
)


@pytest.mark.parametrize("denied", [0, 1])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_call_has_its_own_result_in_call_order(
    tmp_path: Path, denied: int, order: tuple[int, int]
) -> None:
    with Server(tmp_path, [CALLS, say("ok")]) as server:
        client = server.client()
        session = client.session(permission="read", approvals=True)
        asked: dict[str, str] = {}
        told = []
        for event in client.stream(session):
            told.append(event)
            if event.name != "permission_required":
                continue
            asked[event.data["input"]["path"]] = event.data["request_id"]
            if len(asked) < 2:
                continue
            for index in order:
                request = asked[("one.txt", "two.txt")[index]]
                answer = client.call(
                    "POST",
                    f"/v1/sessions/{session}/responses/{request}",
                    json={"outcome": "deny" if index == denied else "allow"},
                )
                assert answer.status_code == 204, answer.text
        history = client.messages(session)
    check_pairs(history)
    found = results(history[2])
    assert [call_id for call_id, _, _ in found] == ["first", "second"]
    assert [failed for _, failed, _ in found] == [index == denied for index in (0, 1)]
    assert found[denied][2] == "The user denied this call."
    there = [(tmp_path / "work" / name).exists() for name in ("one.txt", "two.txt")]
    assert there == [index != denied for index in (0, 1)]
    completed = [event.data for event in told if event.name == "tool_call.completed"]
    assert [(each["id"], each["is_error"]) for each in completed] == [each[:2] for each in found]
    outcomes = {event.data["request_id"]: event.data["outcome"]
                for event in told if event.name == "permission_resolved"}  # fmt: skip
    assert outcomes == {
        asked["one.txt"]: "deny" if denied == 0 else "allow",
        asked["two.txt"]: "deny" if denied == 1 else "allow",
    }
    assert told[-1].name == "turn.finished"

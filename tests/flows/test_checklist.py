"""The checklist: a turn does not end while an item on it is open, within bounds."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.loopback_provider import LoopbackProvider, Round
from tests.serving import Client, Server, say, use
from tests.upstream import Feed, Gate, blocks, post, sent_text, upstream_server

Start = Callable[..., AbstractContextManager[tuple[Client, LoopbackProvider, Server]]]
ADD = use(("c1", "checklist_add", {"items": ["write", {"text": "test", "status": "in_progress"}]}))


@pytest.fixture
def start(tmp_path: Path) -> Start:
    @contextmanager
    def started(rounds: Sequence[Round], **options: Any) -> Iterator[tuple[Client, LoopbackProvider, Server]]:
        with (
            LoopbackProvider(rounds) as upstream,
            upstream_server(tmp_path, upstream, **options) as server,
        ):
            yield server.client(), upstream, server

    return started


def edit(call_id: str, **given: Any) -> list[dict[str, Any]]:
    return use((call_id, "checklist_edit", given))


def notices(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(each["level"], each["text"]) for each in answer["notices"]]


def checklist(client: Client, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.call("GET", f"/v1/sessions/{session}").json()["checklist"]
    return found


def test_turn_goes_on_until_every_item_is_disposed_of(start: Start) -> None:
    rounds = [
        ADD,
        say("done!"),
        edit("c2", id=1, status="completed"),
        say("really"),
        edit("c3", id=2, status="deferred", reason="waiting on Sam"),
        say("bye"),
    ]
    with start(rounds) as (client, upstream, _):
        session = client.session()
        with Feed(client, session) as feed:
            answer = client.turn(session).json()
            feed.wait_for("turn.finished")
        assert notices(answer) == [
            ("info", "Checklist: 2 open items, continuing, nudge 1 of 3"),
            ("info", "Checklist: 1 open item, continuing, nudge 1 of 3"),
        ]
        assert [blocks(message) for message in answer["messages"]] == [
            ["turn_context", "text"], ["tool_use"], ["tool_result"], ["text"], ["nudge"], ["tool_use"],
            ["tool_result"], ["text"], ["nudge"], ["tool_use"], ["tool_result"], ["text"],
        ]  # fmt: skip
        nudge = answer["messages"][4]
        assert (nudge["role"], nudge["content"][0]["kind"]) == ("user", "checklist")
        assert feed.payloads("turn.nudged")[0]["text"] == nudge["content"][0]["text"]
        for words in ("- 1 (pending): write", "- 2 (in_progress): test", "cancel it with a reason"):
            assert words in nudge["content"][0]["text"]
        history = client.messages(session)
        assert {message["turn_label"] for message in history} == {"t_0001"}
        assert len({message["turn_id"] for message in history}) == 1
        lists = [payload["items"] for payload in feed.payloads("checklist.updated")]
        assert [[item["id"] for item in items] for items in lists] == [[1, 2], [2], [2]]
        assert lists[-1] == [{"id": 2, "text": "test", "status": "deferred", "reason": "waiting on Sam"}]
        assert checklist(client, session) == lists[-1]
        assert "Added 1, 2." in sent_text(upstream.requests[1])[-1][1]


def test_completing_the_last_item_announces_an_empty_list(start: Start) -> None:
    rounds = [
        use(
            ("c1", "checklist_add", {"items": ["one"]}), ("c2", "checklist_edit", {"id": 1, "status": "done"})
        ),
        use(("c3", "checklist_add", {"items": ["two"]})),
        edit("c4", id=2, status="skipped", reason="not needed"),
        say("ok"),
    ]
    with start(rounds) as (client, _, _):
        session = client.session()
        with Feed(client, session) as feed:
            answer = client.turn(session).json()
            feed.wait_for("turn.finished")
        assert answer["notices"] == []
        lists = [payload["items"] for payload in feed.payloads("checklist.updated")]
        assert lists == [[{"id": 2, "text": "two", "status": "pending"}], []]
        assert checklist(client, session) == []


def test_three_nudges_in_a_row_are_the_end_of_it(start: Start) -> None:
    with start([ADD, *[say(f"reply {number}") for number in range(8)]]) as (client, upstream, _):
        session = client.session()
        answer = client.turn(session).json()
        assert [text for _, text in notices(answer)] == [
            "Checklist: 2 open items, continuing, nudge 1 of 3",
            "Checklist: 2 open items, continuing, nudge 2 of 3",
            "Checklist: 2 open items, continuing, nudge 3 of 3",
            "Checklist: 2 open items left open",
        ]
        assert answer["notices"][-1]["level"] == "warn"
        assert answer["stop_reason"] == "end_turn"
        assert len(checklist(client, session)) == 2
        # The next turn's end asks again.
        again = client.turn(session).json()
        assert notices(again)[0] == ("info", "Checklist: 2 open items, continuing, nudge 1 of 3")
        assert len(upstream.requests) == 5 + 4


def test_nine_nudges_are_all_a_turn_gets(start: Start) -> None:
    reading = [
        round_ for number in range(12) for round_ in (say("so"), use((f"r{number}", "checklist_read", {})))
    ]
    with start([ADD, *reading]) as (client, _, _):
        session = client.session()
        answer = client.turn(session).json()
        texts = [text for _, text in notices(answer)]
        assert texts[:-1] == ["Checklist: 2 open items, continuing, nudge 1 of 3"] * 9
        assert notices(answer)[-1] == ("warn", "Checklist: 2 open items left open after 9 nudges this turn")


def test_steer_during_the_nudged_reply_rides_the_nudge(start: Start) -> None:
    gate = Gate(say("done!"))
    rounds = [
        use(("c1", "checklist_add", {"items": ["write"]})),
        gate,
        edit("c2", id=1, status="completed"),
        say("ok"),
    ]
    with start(rounds) as (client, upstream, _):
        session = client.session()
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            gate.wait()
            item = post(client, session, "in red")
            gate.opened.set()
            feed.wait_for("turn.finished")
        history = client.messages(session)
        assert blocks(history[4]) == ["nudge", "inbox"]
        assert {message["turn_label"] for message in history} == {"t_0001"}
        names = feed.names()
        assert names.count("message.appended") == 1
        assert names.index("turn.nudged") < names.index("inbox.delivered")
        assert feed.payloads("inbox.delivered")[0]["item_ids"] == [item["item_id"]]
        assert "in red" in sent_text(upstream.requests[2])[-1][1]


@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal"])
def test_stop_that_is_not_normal_is_not_nudged(start: Start, stop_reason: str) -> None:
    ending = [{"type": "text", "text": "I"}, {"type": "message_end", "stop_reason": stop_reason}]
    with start([ADD, ending]) as (client, upstream, _):
        session = client.session()
        answer = client.turn(session).json()
        assert (answer["stop_reason"], answer["notices"]) == (stop_reason, [])
        assert len(checklist(client, session)) == 2
        assert len(upstream.requests) == 2


def test_cancel_and_failure_leave_the_list_alone(start: Start) -> None:
    gate = Gate(say("late"))
    with start([ADD, gate, [{"type": "fail_credential"}]]) as (client, _, _):
        session = client.session()
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            gate.wait()
            client.call("POST", f"/v1/sessions/{session}/cancel")
            feed.wait_for("turn.canceled")
            gate.opened.set()
            assert client.turn(session).status_code == 502
        assert "turn.nudged" not in feed.names()
        assert len(checklist(client, session)) == 2


def test_list_is_recovered_from_the_log_after_a_crash(start: Start) -> None:
    with start([ADD, [{"type": "fail_credential"}], say("a"), say("b"), say("c"), say("d")]) as (
        client,
        _,
        server,
    ):
        session = client.session()
        client.turn(session)
        before = checklist(client, session)
        server.stop(signal.SIGKILL)
        server.start()
        again = server.client()
        assert "checklist" not in again.call("GET", f"/v1/sessions/{session}").json()
        answer = again.turn(session).json()
        assert checklist(again, session) == before
        assert notices(answer)[-1] == ("warn", "Checklist: 2 open items left open")


def test_feature_is_off_where_its_tools_are_filtered_out(start: Start) -> None:
    names = '"checklist_add", "checklist_edit", "checklist_read"'
    more = f"[tools]\ndisabled_tools = [{names}]\n"
    with start([ADD, say("done")], more=more) as (client, upstream, _):
        session = client.session()
        answer = client.turn(session).json()
        assert answer["notices"] == []
        assert answer["messages"][2]["content"][0]["is_error"] is True
        assert checklist(client, session) == []
        assert "checklist" not in str(upstream.requests[0].body.get("tools"))


def test_refused_calls_change_nothing(start: Start) -> None:
    bad = [
        ("b1", "checklist_add", {"items": ["fine", {"text": "x", "status": "completed"}]}),
        ("b2", "checklist_edit", {"id": 1, "status": "canceled"}),
        ("b3", "checklist_edit", {"id": 1, "status": "deferred"}),
        ("b4", "checklist_edit", {"id": 9, "status": "completed"}),
        ("b5", "checklist_edit", {"id": 1, "status": "completed", "reason": "because"}),
        ("b6", "checklist_edit", {"id": 1, "status": "deferred", "reason": "x", "task": "abcd"}),
        ("b7", "checklist_edit", {"id": 1, "text": "new words", "status": "nonsense"}),
        ("b8", "checklist_edit", {"id": 1}),
    ]
    rounds = [
        use(("c1", "checklist_add", {"items": ["one"]})),
        use(*bad),
        edit("c2", id=1, status="done"),
        say("ok"),
    ]
    with start(rounds) as (client, _, _):
        session = client.session()
        with Feed(client, session) as feed:
            answer = client.turn(session).json()
            feed.wait_for("turn.finished")
        results = answer["messages"][4]["content"]
        assert [block["is_error"] for block in results] == [True] * len(bad)
        lists = [payload["items"] for payload in feed.payloads("checklist.updated")]
        assert lists == [[{"id": 1, "text": "one", "status": "pending"}], []]

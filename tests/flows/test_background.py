"""Background tasks: calls beside the turn, told of once, and ended with whoever started them."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from tests.loopback_provider import LoopbackProvider, Received, Round
from tests.serving import Client, Server, say, use
from tests.upstream import Feed, Gate, blocks, post, sent_text, upstream_server

Start = Callable[..., AbstractContextManager[tuple[Client, LoopbackProvider, Server]]]
ON = "[background]\nenabled = true\n"
UNTIL_GO = "while [ ! -e go ]; do sleep 0.02; done; echo finished"


@pytest.fixture
def start(tmp_path: Path) -> Start:
    @contextmanager
    def started(
        rounds: Sequence[Round], more: str = ON, **options: Any
    ) -> Iterator[tuple[Client, LoopbackProvider, Server]]:
        with (
            LoopbackProvider(rounds) as upstream,
            upstream_server(tmp_path, upstream, more=more, **options) as server,
        ):
            yield server.client(), upstream, server

    return started


def shell(call_id: str, command: str, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return call_id, "shell_execute", {"command": command, "background": True, **more}


def tasks(client: Client, session: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.call("GET", f"/v1/sessions/{session}/tasks").json()["tasks"]
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def tool_schemas(received: Received) -> dict[str, Any]:
    return {each["function"]["name"]: each["function"]["parameters"] for each in received.body["tools"]}


def test_feature_that_is_off_has_neither_parameter_nor_tools(start: Start) -> None:
    with start([use(shell("c1", "echo now")), say("ok")], more="") as (client, upstream, _):
        session = client.session()
        answer = client.turn(session).json()
        schemas = tool_schemas(upstream.requests[0])
        assert not {"task_list", "task_cancel"} & set(schemas)
        assert not [name for name, schema in schemas.items() if "background" in schema.get("properties", {})]
        result = answer["messages"][2]["content"][0]
        assert "now" in str(result)
        assert "background" in str(result)
        assert tasks(client, session) == []


def test_call_answers_at_once_and_its_outcome_opens_a_turn(start: Start, tmp_path: Path) -> None:
    with start([use(shell("c1", UNTIL_GO)), say("waiting"), say("noted")]) as (client, upstream, _):
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            answer = client.turn(session).json()
            (task,) = tasks(client, session)
            assert (task["status"], task["tool"]) == ("running", "shell_execute")
            assert "finished_at" not in task
            assert task["id"][:8] in str(answer["messages"][2])
            (tmp_path / "work" / "go").touch()
            feed.wait_for("turn.finished", count=2)
        schemas = tool_schemas(upstream.requests[0])
        assert "background" in schemas["shell_execute"]["properties"]
        assert "background" not in schemas["checklist_add"]["properties"]
        assert {"task_list", "task_cancel"} <= set(schemas)
        assert "tool_call.output_delta" not in feed.names()
        started = feed.payloads("turn.started")[1]
        assert started["source"] == "background"
        assert "item_ids" not in started
        report = client.messages(session)[4]
        assert blocks(report) == ["turn_context", "background_report"]
        assert report["content"][1]["task_ids"] == [task["id"]]
        assert "finished" in report["content"][1]["text"]
        assert "finished" in sent_text(upstream.requests[2])[-1][1]
        (ended,) = tasks(client, session)
        assert ended["status"] == "completed"
        assert {"finished_at", "delivered_at", "outcome"} <= set(ended)
        # It is told of once.
        assert client.turn(session).status_code == 200
        assert str(client.messages(session)).count("background_report") == 1


def test_long_outcome_goes_to_the_scratchpad(start: Start) -> None:
    rounds = [use(shell("c1", "seq 1 3000")), say("waiting"), say("noted")]
    with start(rounds) as (client, _, _):
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            feed.wait_for("turn.started", lambda data: data["source"] == "background")
            feed.wait_for("turn.finished", count=2)
        (task,) = tasks(client, session)
        assert task["scratchpad_entry"] == f"task_{task['id'][:8]}_shell_execute"
        assert "outcome" not in task
        report = client.messages(session)[4]["content"][1]["text"]
        assert task["scratchpad_entry"] in report
        assert "2999" not in report


def test_result_is_kept_under_the_name_that_the_call_gives(start: Start) -> None:
    rounds = [
        use(
            shell("c1", "echo short", scratchpad="kept"),
            shell("c2", "echo bad; exit 3", scratchpad="broken"),
            ("c3", "file_read", {"path": "absent", "background": True, "scratchpad": "unread"}),
        ),
        say("waiting"),
    ]
    with start(rounds) as (client, upstream, _):
        session = client.session(permission="unrestricted")
        answer = client.turn(session).json()
        assert "goes to the scratchpad as 'kept'" in str(answer["messages"][2]["content"][0])
        wait_until(lambda: all("delivered_at" in task for task in tasks(client, session)))
        wait_until(lambda: not client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"])
        found = {task["tool"] + task["status"]: task for task in tasks(client, session)}
        assert found["shell_executecompleted"]["scratchpad_entry"] == "kept"
        assert found["shell_executefailed"]["scratchpad_entry"] == "broken"
        assert "scratchpad_entry" not in found["file_readfailed"]
        assert found["file_readfailed"]["outcome"].startswith("Tool error: ")
        upstream.add(
            use(*((name, "scratchpad_read", {"name": name}) for name in ("kept", "broken", "unread"))),
            say("ok"),
        )
        history = client.turn(session).json()["messages"]
        read = {block["tool_use_id"]: block for block in history[2]["content"]}
        assert "short" in str(read["kept"])
        assert "bad" in str(read["broken"])
        assert read["unread"]["is_error"] is True


def test_image_of_a_task_is_shown_when_the_model_asks_for_it(start: Start, tmp_path: Path) -> None:
    look = use(("c1", "file_read", {"path": "dot.png", "background": True}))

    def show(received: Received) -> Any:
        name = sent_text(received)[-1][1].partition("is in the scratchpad as '")[2].partition("'")[0]
        return use(("c2", "image_render", {"from_scratchpad": name}))

    with start([look, say("waiting"), show, say("seen")]) as (client, _, _):
        Picture.new("RGB", (3, 2), "red").save(tmp_path / "work" / "dot.png")
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            feed.wait_for("turn.finished", count=2)
        (task,) = tasks(client, session)
        assert f"task_{task['id'][:8]}_file_read_image" in task["outcome"]
        assert task["outcome"].startswith("[Image: ")
        report, _, shown = client.messages(session)[4:7]
        assert task["outcome"] in report["content"][1]["text"]
        _, image = shown["content"][0]["content"]
        bytes_of = client.call("GET", f"/v1/sessions/{session}/blobs/{image['hash']}").content
        assert bytes_of == (tmp_path / "work" / "dot.png").read_bytes()


def test_outcome_reaches_a_running_turn_at_its_next_boundary(start: Start, tmp_path: Path) -> None:
    second = use(("c2", "shell_execute", {"command": "while [ ! -e on ]; do sleep 0.02; done"}))
    rounds = [use(shell("c1", UNTIL_GO)), second, say("ok")]
    with start(rounds) as (client, upstream, _):
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            feed.wait_for("tool_call.executing", lambda data: data["id"] == "c2")
            (tmp_path / "work" / "go").touch()
            wait_until(lambda: tasks(client, session)[0]["status"] == "completed")
            (tmp_path / "work" / "on").touch()
            feed.wait_for("turn.finished")
        (task,) = tasks(client, session)
        history = client.messages(session)
        assert blocks(history[4]) == ["tool_result", "background_report"]
        reported = feed.payloads("task.reported")
        assert [each["task_ids"] for each in reported] == [[task["id"]]]
        assert reported[0]["text"] == history[4]["content"][1]["text"]
        assert feed.names().count("turn.started") == 1
        assert len(upstream.requests) == 3


def test_only_so_many_run_at_once(start: Start) -> None:
    calls = [shell(f"c{number}", "sleep 60") for number in range(3)]
    with start([use(*calls), say("ok")], more=ON + "max_tasks = 2\n") as (client, _, _):
        session = client.session(permission="unrestricted")
        answer = client.turn(session).json()
        refused = [block["is_error"] for block in answer["messages"][2]["content"]]
        assert sorted(refused) == [False, False, True]
        assert len(tasks(client, session)) == 2


def test_canceled_task_ends_with_its_children_and_opens_no_turn(start: Start, tmp_path: Path) -> None:
    command = "sleep 300 & echo $! > child; sleep 301"
    with start([use(shell("c1", command)), say("ok"), say("next")]) as (client, upstream, _):
        session = client.session(permission="unrestricted")
        client.turn(session)
        wait_until(
            lambda: (tmp_path / "work" / "child").exists() and (tmp_path / "work" / "child").read_text() != ""
        )
        child = int((tmp_path / "work" / "child").read_text())
        assert is_alive(child)
        (task,) = tasks(client, session)
        path = f"/v1/sessions/{session}/tasks/{task['id']}"
        assert client.call("DELETE", path).status_code == 204
        wait_until(lambda: not is_alive(child))
        assert client.call("DELETE", path).status_code == 204
        assert tasks(client, session)[0]["status"] == "canceled"
        assert "delivered_at" not in tasks(client, session)[0]
        assert len(upstream.requests) == 2
        # Its end rides whichever turn the session takes next.
        answer = client.turn(session).json()
        assert blocks(answer["messages"][0]) == ["turn_context", "background_report", "text"]
        assert "canceled" in answer["messages"][0]["content"][1]["text"]


def test_call_of_a_turn_that_is_canceled_as_it_starts_leaves_no_task_that_never_ends(start: Start) -> None:
    def answer(received: Received) -> Any:
        """Five calls to a session's first request, words to all others."""
        if any(message["role"] == "assistant" for message in received.body["messages"]):
            return say("ok")
        return use(*(shell(f"c{number}", "sleep 0.1") for number in range(5)))

    with start([answer] * 40) as (client, _, _):
        for wait in range(12):
            session = client.session(permission="unrestricted")
            with Feed(client, session) as feed:
                client.turn(session, detach=True)
                feed.wait_for("tool_call.executing")
                time.sleep(0.001 * wait)
                client.call("POST", f"/v1/sessions/{session}/cancel")
                wait_until(
                    lambda session=session: all(
                        task["status"] in ("canceled", "completed") for task in tasks(client, session)
                    )
                )


def test_tasks_are_listed_by_session_and_everywhere(start: Start) -> None:
    rounds = [use(shell("c1", "sleep 60")), say("ok"), use(shell("c2", "exit 3")), say("ok"), say("noted")]
    with start(rounds) as (client, _, _):
        first, second = (client.session(permission="unrestricted") for _ in range(2))
        client.turn(first)
        client.turn(second)
        wait_until(lambda: tasks(client, second)[0]["status"] == "failed")
        everywhere = client.call("GET", "/v1/tasks").json()["tasks"]
        assert [task["session_id"] for task in everywhere] == [second, first]
        for status, expected in (("running", [first]), ("failed", [second]), ("interrupted", [])):
            found = client.call("GET", "/v1/tasks", params={"status": status}).json()["tasks"]
            assert [task["session_id"] for task in found] == expected
        assert client.call("GET", "/v1/tasks", params={"status": "sleeping"}).status_code == 422
        nothing = client.call("DELETE", f"/v1/sessions/{first}/tasks/{everywhere[0]['id']}")
        assert (nothing.status_code, nothing.json()["type"].rpartition("/")[2]) == (404, "not-found")
        assert client.call("DELETE", f"/v1/sessions/{first}/tasks/nonsense").status_code == 404


def test_task_of_a_dead_process_is_interrupted_and_told_of(start: Start) -> None:
    with start([use(shell("c1", "sleep 300")), say("ok"), say("noted")]) as (client, _, server):
        session = client.session(permission="unrestricted")
        client.turn(session)
        server.stop(signal.SIGKILL)
        server.start()
        again = server.client()
        with Feed(again, session, last_event_id=0) as feed:
            feed.wait_for("turn.finished")
        (task,) = tasks(again, session)
        assert task["status"] == "interrupted"
        assert "interrupted" in again.messages(session)[4]["content"][1]["text"]


def test_tasks_end_with_the_server(start: Start, tmp_path: Path) -> None:
    command = "sleep 300 & echo $! > child; sleep 301"
    with start([use(shell("c1", command)), say("ok")]) as (client, _, server):
        session = client.session(permission="unrestricted")
        client.turn(session)
        wait_until(
            lambda: (tmp_path / "work" / "child").exists() and (tmp_path / "work" / "child").read_text() != ""
        )
        child = int((tmp_path / "work" / "child").read_text())
        assert server.stop() == 0
        assert not is_alive(child)
        server.start()
        assert tasks(server.client(), session)[0]["status"] == "interrupted"


def test_deleted_session_takes_its_tasks_along(start: Start, tmp_path: Path) -> None:
    with start([use(shell("c1", "echo $$ > pid; exec sleep 300")), say("ok")]) as (client, _, _):
        session = client.session(permission="unrestricted")
        client.turn(session)
        wait_until(
            lambda: (tmp_path / "work" / "pid").exists() and (tmp_path / "work" / "pid").read_text() != ""
        )
        pid = int((tmp_path / "work" / "pid").read_text())
        assert client.call("DELETE", f"/v1/sessions/{session}").status_code == 204
        wait_until(lambda: not is_alive(pid))


def test_item_deferred_on_a_task_holds_the_turn_that_reports_it(start: Start, tmp_path: Path) -> None:
    def defer(received: Received) -> Any:
        """Defer the item on the task, by the short id that its start was answered with."""
        short = sent_text(received)[-1][1].partition("as task ")[2][:8]
        return use(
            ("c2", "checklist_edit", {"id": 1, "status": "deferred", "reason": "the build", "task": short})
        )

    refused = use(("c3", "checklist_edit", {"id": 1, "status": "deferred"}))
    rounds: list[Round] = [
        use(("c0", "checklist_add", {"items": ["ship it"]}), shell("c1", UNTIL_GO)),
        defer,
        say("waiting for the build"),
        say("nothing to do"),
        refused,
        use(("c4", "checklist_edit", {"id": 1, "status": "waiting", "reason": "Sam is away"})),
        say("bye"),
    ]
    with start(rounds) as (client, _, _):
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            feed.wait_for("turn.finished")
            (task,) = tasks(client, session)
            (item,) = client.call("GET", f"/v1/sessions/{session}").json()["checklist"]
            assert (item["status"], item["task"], item["reason"]) == ("deferred", task["id"], "the build")
            assert "turn.nudged" not in feed.names()
            (tmp_path / "work" / "go").touch()
            feed.wait_for("turn.finished", count=2)
        lists = [payload["items"] for payload in feed.payloads("checklist.updated")]
        assert [items[0]["status"] for items in lists] == ["pending", "deferred", "pending", "deferred"]
        assert lists[-1] == [{"id": 1, "text": "ship it", "status": "deferred", "reason": "Sam is away"}]
        nudged = feed.payloads("turn.nudged")
        assert len(nudged) == 1
        assert task["id"][:8] in nudged[0]["text"]
        assert "the build" in nudged[0]["text"]
        results = [
            block for message in client.messages(session) for block in message["content"]
            if block["type"] == "tool_result" and block["tool_use_id"] == "c3"
        ]  # fmt: skip
        assert results[0]["is_error"] is True
        assert "already reported" in str(results[0])


def test_report_on_a_failed_inbox_opening_is_not_lost(start: Start, tmp_path: Path) -> None:
    gate = Gate(say("waiting"))
    rounds: list[Round] = [use(shell("c1", UNTIL_GO)), gate, [{"type": "fail_credential"}], say("noted")]
    with start(rounds) as (client, upstream, _):
        session = client.session(permission="unrestricted")
        with Feed(client, session) as feed:
            client.turn(session, detach=True)
            gate.wait()
            post(client, session, "hello", "followup")
            (tmp_path / "work" / "go").touch()
            wait_until(lambda: tasks(client, session)[0]["status"] == "completed")
            gate.opened.set()
            feed.wait_for("turn.failed")
        assert feed.payloads("turn.failed")[0]["message_withdrawn"] is True
        assert blocks(client.messages(session)[-1]) == ["background_report"]
        assert client.turn(session).status_code == 200
        assert "finished" in str(upstream.requests[-1].body)
        assert "hello" not in str(upstream.requests[-1].body)


def test_running_tasks_are_named_in_the_context(start: Start) -> None:
    with start([use(shell("c1", "sleep 60")), say("ok"), say("ok")]) as (client, _, _):
        session = client.session(permission="unrestricted")
        client.turn(session)
        context = client.turn(session).json()["messages"][0]["content"][0]["text"]
        (task,) = tasks(client, session)
        assert f"[Background]\n- **{task['id'][:8]}**: shell_execute sleep 60" in context


def test_command_that_detached_itself_ends_with_the_server(start: Start, tmp_path: Path) -> None:
    command = "setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 0.2"
    with start([use(("c1", "shell_execute", {"command": command})), say("ok")]) as (client, _, server):
        session = client.session(permission="unrestricted")
        client.turn(session)
        wait_until(
            lambda: (tmp_path / "work" / "pid").exists() and (tmp_path / "work" / "pid").read_text() != ""
        )
        pid = int((tmp_path / "work" / "pid").read_text())
        assert server.stop() == 0
        alive = is_alive(pid)
        if alive:
            os.kill(pid, signal.SIGKILL)
        assert not alive


def test_session_with_a_running_task_stays_resident(start: Start) -> None:
    idle = 'idle_timeout = "300ms"\ngc_scan_interval = "50ms"'
    with start([use(shell("c1", "sleep 300")), say("ok"), say("hello again")], serve=idle) as (client, _, _):
        session = client.session(permission="unrestricted")
        client.turn(session)

        def is_loaded() -> bool:
            return "checklist" in client.call("GET", f"/v1/sessions/{session}").json()

        other = client.session()
        wait_until(lambda: "checklist" not in client.call("GET", f"/v1/sessions/{other}").json())
        assert is_loaded()
        (task,) = tasks(client, session)
        client.call("DELETE", f"/v1/sessions/{session}/tasks/{task['id']}")
        wait_until(lambda: not is_loaded())
        # An item revives it, and the canceled task's end rides that opening.
        post(client, session, "are you there?")
        wait_until(lambda: len(client.messages(session)) == 6)
        opening = client.messages(session)[4]
        assert blocks(opening) == ["turn_context", "background_report", "inbox"]
        assert "[Session resumed]" in opening["content"][0]["text"]


def test_agent_lists_and_cancels_its_tasks(start: Start) -> None:
    rounds = [
        use(shell("c1", "sleep 300")),
        use(("c2", "task_list", {})),
        use(("c3", "task_cancel", {"id": "nonsense"}), ("c4", "task_cancel", {"id": "all"})),
        use(("c5", "task_list", {})),
        say("ok"),
    ]
    with start(rounds) as (client, _, _):
        session = client.session(permission="unrestricted")
        history = client.turn(session).json()["messages"]
        (task,) = tasks(client, session)
        assert task["status"] == "canceled"
        before, canceled, after = (history[number]["content"] for number in (4, 6, 8))
        assert before[0]["content"][0]["text"].splitlines()[0].split("\t") == [
            "ID", "Status", "Tool", "What", "Elapsed", "Result"
        ]  # fmt: skip
        assert "running" in str(before[0])
        assert [block["is_error"] for block in canceled if block["type"] == "tool_result"] == [True, False]
        assert task["id"][:8] in str(canceled)
        assert "canceled" in str(after)
        # A canceled task is told of at the next boundary of the running turn.
        reports = [
            block
            for message in history
            for block in message["content"]
            if block["type"] == "background_report"
        ]
        assert [block["task_ids"] for block in reports] == [[task["id"]]]

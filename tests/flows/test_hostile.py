"""What a hostile or unlucky world does to a server, and that it goes on answering everyone else."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.cases.support import (
    Feed,
    cancel,
    check_pairs,
    descriptors_of,
    detach,
    eventually,
    raw_request,
    read_all,
    resident_bytes,
    results,
    slug,
    turns_of,
    wired_server,
)
from tests.loopback_provider import LoopbackProvider, Reply
from tests.serving import TOKEN, Client, Server, say, use
from tests.watching import others_watched

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
PROBLEM = "application/problem+json"


def in_flight(client: Client, session: str) -> bool:
    """Whether the session's record says that a turn is running."""
    return bool(client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"])


def together(work: Callable[[int], Any], count: int) -> list[Any]:
    """What `work` answers for each number, all at once."""
    answers: list[Any] = [None] * count

    def run(number: int) -> None:
        answers[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root: Path = tmp_path_factory.mktemp("hostile")
    with Server(root, serve="max_body_bytes = 20000000") as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = server.client()
    yield client
    assert client.call("GET", "/v1/health/live").status_code == 200
    client.http.close()


# Requests


def test_every_method_on_every_path_is_answered_without_a_500(client: Client) -> None:
    session = client.session()
    paths = client.call("GET", "/v1/openapi.json").json()["paths"]
    for template in paths:
        for filled in (session, "%00", "..%2f..%2fetc", "\U0001f600", "a" * 3000):
            path = template.replace("{id}", session if filled == session else filled)
            for name in ("turn_id", "item_id", "request_id", "task_id"):
                path = path.replace("{" + name + "}", filled)
            for method in METHODS:
                if method == "DELETE" and path == f"/v1/sessions/{session}":
                    continue
                with client.call(method, path, stream=True, timeout=10) as answer:
                    assert answer.status_code < 500 or template == "/v1/health/ready", (method, path)
                    if answer.status_code >= 400 and method != "HEAD":
                        assert answer.headers["Content-Type"] == PROBLEM, (method, path, answer.text)


@pytest.mark.parametrize("text", ["\x00", "\ud800", "a\x00b\udfffc", "\u202e", "\ufffe"])
def test_text_no_store_can_hold_is_no_500_in_any_field(client: Client, text: str) -> None:
    session = client.session()
    dumped = {"Content-Type": "application/json"}
    for method, path, body in (
        ("POST", "/v1/sessions", {"working_directory": text}),
        ("POST", "/v1/sessions", {"working_directory": "/" + text}),
        ("POST", "/v1/sessions", {"profile": text}),
        ("POST", "/v1/sessions", {"project": text}),
        ("POST", "/v1/sessions", {"permission": text}),
        ("POST", "/v1/sessions", {text: text}),
        ("PATCH", f"/v1/sessions/{session}", {"title": text}),
        ("PATCH", f"/v1/sessions/{session}", {"profile": text}),
        ("PATCH", f"/v1/sessions/{session}", {"working_directory": text}),
        ("POST", f"/v1/sessions/{session}/turn", {"message": text}),
        ("POST", f"/v1/sessions/{session}/turn", {"message": "x", "options": {"skill": text}}),
        ("POST", f"/v1/sessions/{session}/turn", {"message": "x", "images": [{"hash": text}]}),
        (
            "POST",
            f"/v1/sessions/{session}/turn",
            {"message": "", "images": [{"data": text, "media_type": text}]},
        ),
        ("POST", f"/v1/sessions/{session}/inbox", {"message": text, "class": "steer", "source": text}),
        ("POST", f"/v1/sessions/{session}/cancel", {"turn_id": text}),
        ("POST", f"/v1/sessions/{session}/responses/x", {"outcome": text}),
    ):
        answer = client.call(method, path, data=json.dumps(body), headers=dumped)
        assert answer.status_code < 500, (path, body, answer.text)
    for name in (
        "working_directory",
        "cursor",
        "parent",
        "profile",
        "project",
        "updated_since",
        "pinned",
        "limit",
    ):
        answer = client.call("GET", "/v1/sessions", params={name: text.encode("utf-8", "surrogatepass")})
        assert answer.status_code < 500, (name, answer.text)
    for path in (f"/v1/sessions/{session}", f"/v1/sessions/{session}/messages"):
        client.call("GET", path).content.decode("utf-8")


BROKEN = [
    b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 10_000_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
    b"\x00" * 100_000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
]


def test_broken_http_is_refused_and_delays_nobody(server: Server, client: Client) -> None:
    def send(raw: bytes) -> bytes:
        try:
            with raw_request(server.base_url, raw) as connection:
                return read_all(connection)
        except ConnectionError:
            return b""

    with others_watched(client, "broken HTTP"):
        answers = [together(lambda _number, raw=raw: send(raw), 8) for raw in BROKEN]
    for answer in (answer for each in answers for answer in each):
        assert answer[9:10] in (b"4", b"", b"5")
        assert answer[9:12] != b"500"


def test_ten_megabyte_message_is_held_and_told_whole(server: Server, client: Client) -> None:
    session = client.session()
    message = "m\u00e9" * 1_400_000
    with others_watched(server.client(), "a message of 10 MB"):
        answer = client.turn(session, message)
    assert answer.status_code == 200, answer.text[:300]
    assert client.messages(session)[0]["content"][1]["text"] == message


def test_thousands_of_sessions_made_at_once(server: Server, client: Client) -> None:
    def make(_number: int) -> set[str]:
        own = server.client()
        return {own.session() for _ in range(250)}

    before = descriptors_of(server.process.pid)
    with others_watched(server.client(), "2000 sessions"):
        made = together(make, 8)
    assert len(set().union(*made)) == 2000
    print("descriptors a session:", (descriptors_of(server.process.pid) - before) / 2000)


def test_patch_and_cancel_storms_during_a_turn_end_in_one_state(tmp_path: Path) -> None:
    rounds = [use((f"c{n}", "shell_execute", {"command": "sleep 0.05"})) for n in range(10)]
    with Server(tmp_path, [*rounds, say("ok")]) as server:
        client = server.client()
        session = client.session()

        def storm(number: int) -> set[int]:
            own = server.client()
            codes = set()
            for step in range(25):
                body = ({"title": f"{number}"}, {"pinned": bool(step % 2)}, {"approvals": bool(step % 2)},
                        {"profile": "scripted"}, {"permission": "workspace"})[step % 5]  # fmt: skip
                codes.add(own.call("PATCH", f"/v1/sessions/{session}", json=body).status_code)
            return codes

        with Feed(client, session) as feed, others_watched(server.client(), "a storm of PATCH"):
            detach(client, session)
            codes = set().union(*together(storm, 6))
            assert codes <= {200, 409}
            stopped = together(lambda _n: cancel(server.client(), session).status_code, 40)
            assert set(stopped) == {204}
            eventually(
                lambda: {"turn.finished", "turn.canceled"} & set(feed.names()) != set(), "the turn ends"
            )
        (record,) = turns_of(client, session)
        assert record["status"] in ("canceled", "succeeded")
        check_pairs(client.messages(session))
        assert [client.call("DELETE", f"/v1/sessions/{session}").status_code for _ in range(3)] == [204] * 3
        assert client.call("GET", f"/v1/sessions/{session}").status_code == 404


# The model


@pytest.mark.parametrize(
    "reply",
    [
        Reply(raw=b"\x00\xff\xfe garbage \r\n\r\n" * 1000),
        Reply(raw=b""),
        Reply(raw=b"data: {\n\n"),
        Reply(raw=b"data: []\n\ndata: null\n\ndata: 7\n\n"),
        Reply(
            raw=b'event: content_block_delta\ndata: {"type":"content_block_delta","index":9,"delta":3}\n\n'
        ),
        Reply(raw=b"data: " + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"\n\n"),
        Reply(status=200, body="<html>proxy says hello</html>"),
        Reply(status=418, body={"error": {"message": "\ud800"}}),
        Reply(status=500, body="x" * 3_000_000, headers={"Retry-After": "-5"}),
    ],
)
@pytest.mark.parametrize("backend", ["anthropic-messages", "openai-responses"])
def test_garbage_of_a_model_fails_the_turn_and_frees_the_session(
    tmp_path: Path, reply: Reply, backend: str
) -> None:
    with LoopbackProvider(default=reply) as upstream, wired_server(tmp_path, upstream, backend) as server:
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed:
            detach(client, session)
            upstream.wait_for_requests(1)
            eventually(lambda: not in_flight(client, session), "the session is free", 40)
            assert len(upstream.requests) <= 4
            feed.wait_for("turn.failed")
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


ARGUMENTS = {
    "arrays 100,000 deep": '{"path": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "objects 100,000 deep": '{"path":' * 100_000 + "1" + "}" * 100_000,
    "20,000 empty arrays": '{"path": [' + "[]," * 20_000 + "0]}",
    "a key given twice": '{"path": "a", "path": "b"}',
    "NaN": '{"path": NaN}',
    "a number of 100,000 digits": '{"path": ' + "9" * 100_000 + "}",
}


def call_with(arguments: str) -> Reply:
    """A reply of a chat completion that calls a tool with raw arguments."""
    call = {"index": 0, "id": "c1", "function": {"name": "file_read", "arguments": arguments}}
    deltas: list[dict[str, Any]] = [
        {"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "tool_calls"},
    ]
    chunks = [{"id": "x", "object": "chat.completion.chunk", "choices": [delta]} for delta in deltas]
    lines = [*map(json.dumps, chunks), "[DONE]"]
    return Reply(raw="".join(f"data: {line}\n\n" for line in lines).encode())


def test_hostile_arguments_of_a_call_fail_the_call_alone(tmp_path: Path) -> None:
    with (
        LoopbackProvider() as upstream,
        wired_server(tmp_path, upstream, "openai-chat-completions") as server,
        others_watched(server.client(), "hostile arguments"),
    ):
        client = server.client()
        for what, arguments in ARGUMENTS.items():
            upstream.add(call_with(arguments), say("ok"))
            session = client.session()
            answer = client.turn(session)
            assert answer.status_code == 200, (what, answer.text[:500])
            history = client.messages(session)
            check_pairs(history)
            ((_, failed, text),) = results(history[2])
            assert failed, (what, text[:300])
            assert "failed unexpectedly" not in text, (what, text[:300])
        assert not any("Traceback" in line for line in server.log), "".join(server.log)[-3000:]


def test_text_of_a_model_without_an_end_is_bounded(tmp_path: Path) -> None:
    line = b"data: " + b"x" * (64 * 1024 * 1024)
    with LoopbackProvider(default=Reply(raw=line)) as upstream, wired_server(tmp_path, upstream) as server:
        client = server.client()
        session = client.session()
        before = resident_bytes(server.process.pid)
        with others_watched(server.client(), "an endless line"):
            detach(client, session)
            upstream.wait_for_requests(1)
            eventually(lambda: bool(turns_of(client, session)[0].get("ended_at"))
                       or len(upstream.requests) > 1, "an end", 60)  # fmt: skip
        assert resident_bytes(server.process.pid) - before < 300 * 1024 * 1024


# The machine


def test_working_directory_removed_and_links_that_loop_fail_single_calls(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "loop").symlink_to(place / "loop")
    (place / "up").symlink_to(place)
    (place / "binary").write_bytes(bytes(range(256)) * 10)
    calls = [
        ("shell_execute", {"command": "cat binary; echo done"}),
        ("file_read", {"path": "loop"}),
        ("file_read", {"path": "binary"}),
        ("file_find", {"glob": "**/*"}),
        ("file_search", {"pattern": "x", "path": "up"}),
        ("file_write", {"path": "loop/x", "content": "x"}),
        ("file_read", {"path": "a\x00b"}),
        ("file_write", {"path": "n" * 5000, "content": "x"}),
        ("shell_execute", {"command": "echo a\x00b"}),
    ]
    first = use(*((f"c{n}", name, given) for n, (name, given) in enumerate(calls)))
    gone = use(*((f"d{n}", name, given) for n, (name, given) in enumerate(calls)))
    with Server(tmp_path, [first, say("one"), gone, say("two")]) as server:
        client = server.client()
        session = client.session(working_directory=str(place))
        assert client.turn(session).status_code == 200
        shutil.rmtree(place)
        assert client.turn(session).status_code == 200
        history = client.messages(session)
        check_pairs(history)
        assert "done" in results(history[2])[0][2]
        assert all(failed for _, failed, _ in results(history[6])[:3])
        texts = [text for message in history for _, _, text in results(message)]
        assert not any("failed unexpectedly" in text for text in texts), texts
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


def test_server_that_was_stopped_and_continued_goes_on(tmp_path: Path) -> None:
    with Server(tmp_path, [[{"type": "sleep", "ms": 300}, *say("ok")]]) as server:
        client = server.client()
        session = client.session()
        with Feed(client, session) as feed:
            detach(client, session)
            server.process.send_signal(signal.SIGSTOP)
            with pytest.raises(requests.Timeout):
                client.call("GET", "/v1/health/live", timeout=0.3)
            server.process.send_signal(signal.SIGCONT)
            feed.wait_for("turn.finished")


def test_two_servers_on_one_store_share_the_sessions(tmp_path: Path) -> None:
    with Server(tmp_path, [say("one")] * 3) as first, Server(tmp_path, [say("two")] * 3) as second:
        mine, theirs = first.client(), second.client()
        session = mine.session()
        assert mine.turn(session).status_code == 200
        for answer in (
            theirs.turn(session),
            theirs.call("PATCH", f"/v1/sessions/{session}", json={"permission": "read"}),
            theirs.call("DELETE", f"/v1/sessions/{session}"),
        ):
            assert (answer.status_code, slug(answer)) == (409, "session-locked")
        assert len(theirs.messages(session)) == 2
        assert first.stop() == 0
        assert theirs.turn(session).status_code == 200
        assert len(theirs.messages(session)) == 4


def test_store_locked_by_another_process_is_a_503_until_it_is_let_go(tmp_path: Path) -> None:
    with Server(tmp_path, [say("one"), say("two")]) as server:
        client = server.client()
        session = client.session()
        intruder = sqlite3.connect(tmp_path / "data" / "meka.db", isolation_level=None)
        intruder.execute("BEGIN IMMEDIATE")
        try:
            answer = client.turn(session)
            assert (answer.status_code, slug(answer)) == (503, "store-unavailable")
            assert client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"] is False
        finally:
            intruder.execute("ROLLBACK")
            intruder.close()
        assert client.turn(session).status_code == 200
        assert len(client.messages(session)) == 2


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "meka-test", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting takes a privilege that is not there")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_full_disk_is_a_503_and_nothing_half_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data"), Server(tmp_path, [say(f"{n}") for n in range(40)]) as server:
        client = server.client()
        session = client.session()
        codes = []
        for _ in range(6):
            answer = client.turn(session, "m" * 800_000)
            codes.append((answer.status_code, "" if answer.ok else slug(answer)))
        assert set(codes) <= {(200, ""), (503, "store-unavailable")}
        assert (503, "store-unavailable") in codes
        history = client.messages(session)
        check_pairs(history)
        subprocess.run(["mount", "-o", "remount,size=30m", str(tmp_path / "data")], check=True)
        assert client.turn(session, "after").status_code == 200
        assert client.messages(session)[: len(history)] == history


def test_data_directory_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file is no directory", encoding="utf-8")
    environ = {**os.environ, "MEKA_DATA_DIR": str(tmp_path / "data"), "MEKA_CONFIG_DIR": str(tmp_path),
               "MEKA_TEST_TOKEN": TOKEN}  # fmt: skip
    (tmp_path / "config.toml").write_text(
        '[[serve.tokens]]\ntoken = "${MEKA_TEST_TOKEN}"\nscopes = ["sessions:r"]\n', encoding="utf-8"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "meka", "serve", "--bind", "127.0.0.1:0"],
        env=environ, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert ended.returncode not in (0, None)
    assert "Traceback" not in ended.stderr
    assert str(tmp_path / "data") in ended.stderr

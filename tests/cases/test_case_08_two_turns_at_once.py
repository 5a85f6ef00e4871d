"""Case 8: two POST /turn within a millisecond."""

import json
import threading
from pathlib import Path

from tests.cases.support import raw_request, read_all, turns_of, words
from tests.serving import TOKEN, Server, say

PAIRS = 12


def request(session: str, message: str) -> bytes:
    body = json.dumps({"message": message}).encode()
    return (
        f"POST /v1/sessions/{session}/turn HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def test_one_turn_runs_and_the_other_is_refused(tmp_path: Path) -> None:
    rounds = [[{"type": "sleep", "ms": 150}, *say("ok")] for _ in range(PAIRS)]
    with Server(tmp_path, rounds) as server:
        client = server.client()
        for number in range(PAIRS):
            session = client.session()
            if number % 2:
                client.call("GET", f"/v1/sessions/{session}/stream", stream=True).close()
            answers: list[bytes] = []
            gate = threading.Barrier(2)

            def submit(message: str, session: str = session, gate: threading.Barrier = gate,
                       answers: list[bytes] = answers) -> None:  # fmt: skip
                # All but the last byte is there before either is complete.
                whole = request(session, message)
                with raw_request(server.base_url, whole[:-1]) as connection:
                    gate.wait(10)
                    connection.sendall(whole[-1:])
                    answers.append(read_all(connection))

            threads = [threading.Thread(target=submit, args=(name,)) for name in ("left", "right")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert sorted(answer[9:12] for answer in answers) == [b"200", b"409"]
            refused = json.loads(next(a for a in answers if a[9:12] == b"409").partition(b"\r\n\r\n")[2])
            assert refused["type"] == "https://meka.run/errors/turn-in-flight"
            history = client.messages(session)
            assert [message["role"] for message in history] == ["user", "assistant"]
            assert words(history) in (["left", "ok"], ["right", "ok"])
            assert len(turns_of(client, session)) == 1

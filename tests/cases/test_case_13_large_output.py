"""Case 13: a tool prints 5 MB."""

import json
import re
from pathlib import Path

import pytest

from tests.cases.support import BACKENDS, check_pairs, read_batches, wired_server
from tests.loopback_provider import LoopbackProvider, Received
from tests.serving import say, use

LINES = 720_000
SENT_BYTES = 200_000


def spilled_name(received: Received) -> str:
    found = re.search(r'<large-output name=\\"([^\\"]+)\\"', json.dumps(received.body))
    assert found, "the request names no entry"
    return found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_requests_stay_bounded_and_all_of_the_output_can_be_read(tmp_path: Path, backend: str) -> None:
    ranges = [(1, 3), (LINES // 2, LINES // 2), (LINES - 1, LINES)]
    with LoopbackProvider() as upstream, wired_server(tmp_path, upstream, backend) as server:
        upstream.add(
            use(("c1", "shell_execute", {"command": f"seq 1 {LINES}"})),
            lambda received: use(
                *(
                    (
                        f"r{start}",
                        "scratchpad_read",
                        {"name": spilled_name(received), "start": start, "end": end},
                    )
                    for start, end in ranges
                )
            ),
            say("read"),
        )
        client = server.client()
        session = client.session()
        with client.call(
            "POST", f"/v1/sessions/{session}/turn", json={"message": "go", "stream": True}, stream=True
        ) as response:
            events = [event for batch in read_batches(response) for event in batch]
        history = client.messages(session)
        sizes = [len(json.dumps(received.body)) for received in upstream.requests]
    assert events[-1].name == "turn.finished"
    check_pairs(history)
    printed = "".join(f"{n}\n" for n in range(1, LINES + 1))
    assert len(printed) > 4_900_000
    completed = {event.data["id"]: event.data for event in events if event.name == "tool_call.completed"}
    assert completed["c1"]["content"] == [{"type": "text", "text": printed}]
    print("request bytes:", sizes)
    assert len(sizes) == 3
    assert max(sizes) < SENT_BYTES
    for start, end in ranges:
        text = completed[f"r{start}"]["content"][0]["text"]
        for number in range(start, end + 1):
            assert re.search(rf"\b{number}\b", text), text
    assert len(json.dumps(history)) < SENT_BYTES

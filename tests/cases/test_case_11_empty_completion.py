"""Case 11: a provider that answers with an empty completion."""

from pathlib import Path

import pytest

from tests.cases.support import BACKENDS, turns_of, wired_server
from tests.loopback_provider import LoopbackProvider
from tests.serving import say

EMPTY = (
    (),
    ({"type": "message_end", "stop_reason": "end_turn"},),
    ({"type": "text", "text": ""}, {"type": "message_end", "stop_reason": "end_turn"}),
    ({"type": "text", "text": " \n"}, {"type": "message_end", "stop_reason": "end_turn"}),
    ({"type": "thinking_delta", "text": "hm"}, {"type": "message_end", "stop_reason": "end_turn"}),
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_turn_ends_after_asking_once_for_words(tmp_path: Path, backend: str) -> None:
    with LoopbackProvider() as upstream, wired_server(tmp_path, upstream, backend) as server:
        client = server.client()
        for number, empty in enumerate(EMPTY):
            upstream.add(empty, empty, say("words"))
            session = client.session()
            answer = client.turn(session)
            assert answer.status_code == 200, answer.text
            assert answer.json()["stop_reason"] == "end_turn"
            asked = upstream.requests[3 * number :]
            assert len(asked) == 2, f"{len(asked)} requests for {empty}"
            last = answer.json()["messages"][-1]
            assert last["role"] == "assistant"
            assert last["content"][-1]["text"].strip()
            nudges = [b for m in answer.json()["messages"] for b in m["content"] if b["type"] == "nudge"]
            assert [nudge["kind"] for nudge in nudges] == ["visible_reply"]
            assert client.turn(session).json()["messages"][-1]["content"][-1]["text"] == "words"
            assert [record["status"] for record in turns_of(client, session)] == ["succeeded"] * 2
            assert len(upstream.requests) == 3 * (number + 1)

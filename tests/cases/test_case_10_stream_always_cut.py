"""Case 10: a provider that always cuts the stream."""

from pathlib import Path

import pytest

from meka.agent.providers.retry import ATTEMPTS
from tests.cases.support import BACKENDS, slug, turns_of, wired_server, words
from tests.loopback_provider import LoopbackProvider, Reply
from tests.serving import say

CUT_IN_WORDS = Reply([{"type": "text", "text": "half an ans"}, {"type": "fail_stream"}])
CUT_AT_ONCE = Reply(say("never"), burst=True, cut_after_bytes=3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_stream_cut_within_words_is_tried_once(tmp_path: Path, backend: str) -> None:
    with (
        LoopbackProvider([CUT_IN_WORDS] * 2, default=say("fine")) as upstream,
        wired_server(tmp_path, upstream, backend) as server,
    ):
        client = server.client()
        session = client.session()
        events = list(client.stream(session, "first"))
        held = client.turn(session, "second")
        assert len(upstream.requests) == 2
        assert events[-1].name == "turn.failed"
        assert events[-1].data["error"]["type"].endswith("/provider-unavailable")
        assert (held.status_code, slug(held)) == (502, "provider-unavailable")
        assert client.turn(session, "third").status_code == 200
        assert words(client.messages(session)) == [
            "first", "half an ans", "second", "half an ans", "third", "fine"
        ]  # fmt: skip
        statuses = [record["status"] for record in turns_of(client, session)]
        assert statuses == ["failed", "failed", "succeeded"]


def test_stream_cut_before_any_words_is_tried_a_bounded_number_of_times(tmp_path: Path) -> None:
    with (
        LoopbackProvider([CUT_AT_ONCE] * ATTEMPTS, default=say("fine")) as upstream,
        wired_server(tmp_path, upstream) as server,
    ):
        client = server.client()
        session = client.session()
        events = list(client.stream(session, "first"))
        assert len(upstream.requests) == ATTEMPTS
        assert [event.name for event in events if event.name.startswith("turn.")] == [
            "turn.started", "turn.failed"
        ]  # fmt: skip
        assert client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"] is False
        assert client.turn(session, "second").status_code == 200
        assert words(client.messages(session)) == ["first", "second", "fine"]

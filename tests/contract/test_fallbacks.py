"""A fallback profile stands in for one that cannot serve a turn."""

from collections.abc import Iterator

import pytest

from tests.contract.bench import Bench, running
from tests.contract.test_answers import png
from tests.loopback_provider import Reply

SPENT = Reply(status=402, body={"error": {"type": "billing_error", "message": "no credit"}})


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running(tmp_path_factory.mktemp("chained")) as bench:
        for name, settings in [
            ("stopgap", {"model": "second-model"}),
            ("chained", {"model": "first-model", "fallbacks": ["keyless", "blind", "stopgap"]}),
        ]:
            body = {"name": name, "account": "upstream", **settings}
            assert bench.client.call("POST", "/v1/profiles", json=body).status_code == 201
        yield bench


def models(bench: Bench) -> list[str]:
    return [request.body["model"] for request in bench.upstream.requests]


def test_first_fallback_that_can_run_serves_the_turn_and_is_named(chained: Bench) -> None:
    chained.upstream.requests.clear()
    session_id = chained.client.session(profile="chained")
    chained.upstream.add(SPENT)
    answer = chained.client.turn(session_id).json()
    assert models(chained) == ["first-model", "claude-test"]
    assert [notice["level"] for notice in answer["notices"]] == ["warn"]
    assert "'blind'" in answer["notices"][0]["text"]
    record = chained.client.call("GET", f"/v1/sessions/{session_id}").json()
    assert (record["profile"], record["last_turn"]["profile"]) == ("chained", "blind")
    chained.upstream.requests.clear()
    chained.client.turn(session_id)
    assert models(chained) == ["first-model"]
    assert "profile" not in chained.client.call("GET", f"/v1/sessions/{session_id}").json()["last_turn"]


def test_fallback_that_takes_no_images_is_passed_over(chained: Bench) -> None:
    chained.upstream.requests.clear()
    session_id = chained.client.session(profile="chained")
    chained.upstream.add(SPENT)
    chained.client.turn(session_id, images=[{"media_type": "image/png", "data": png()}])
    assert models(chained) == ["first-model", "second-model"]
    record = chained.client.call("GET", f"/v1/sessions/{session_id}").json()
    assert record["last_turn"]["profile"] == "stopgap"


def test_malformed_request_is_nobody_elses_to_serve(chained: Bench) -> None:
    chained.upstream.requests.clear()
    chained.upstream.add(Reply(status=400, body={"error": {"message": "no"}}))
    assert chained.client.turn(chained.client.session(profile="chained")).status_code == 502
    assert set(models(chained)) == {"first-model"}


def test_last_failure_is_told_when_the_whole_chain_failed(chained: Bench) -> None:
    chained.upstream.requests.clear()
    chained.upstream.add(SPENT, SPENT, SPENT)
    session_id = chained.client.session(profile="chained")
    assert chained.client.turn(session_id).status_code == 502
    assert models(chained) == ["first-model", "claude-test", "second-model"]
    assert "profile" not in chained.client.call("GET", f"/v1/sessions/{session_id}").json()["last_turn"]


def test_compaction_is_a_fallbacks_to_serve_as_well(chained: Bench) -> None:
    session_id = chained.client.session(profile="chained")
    chained.client.turn(session_id)
    chained.upstream.requests.clear()
    chained.upstream.add(SPENT)
    answer = chained.client.call("POST", f"/v1/sessions/{session_id}/compact", json={})
    assert (answer.status_code, answer.json()["source"]) == (200, "summarizer")
    # The one that took over hands over no summary at the checkpoint, and is asked to write one.
    assert models(chained) == ["first-model", "claude-test", "claude-test"]
    chained.client.turn(session_id)
    assert models(chained)[-1] == "first-model"

"""Random walks along the document's links: whatever follows on whatever, the document has the answers."""

import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
import schemathesis
from hypothesis import seed
from hypothesis.errors import Flaky
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation.stateful.state_machine import StepInput, StepOutput, Transition

from tests.contract.bench import Bench
from tests.contract.searching import SCHEMA, hold_to_document, searching, sending

WALKS, STEPS = 4, 20
EVERYDAY, SOAK = 5, 400
"""How many seeds are walked from, `WALKS` walks of `STEPS` requests each."""
BODIES_THAT_WORK: dict[str, dict[str, Any]] = {
    "create_account": {
        "backend": "anthropic-messages",
        "api_key": "sk-test",
        "base_url": "http://127.0.0.1:9",
    },
    "create_profile": {"account": "upstream", "model": "claude-test"},
    "create_session": {},
    "submit_turn": {"message": "go"},
    "post_inbox": {"message": "go", "class": "followup"},
    "fork_session": {},
    "rewind_session": {},
}
_KEPT = {"name", "title", "stream", "detach"}
"""Of what is drawn for these: with anything else, few would be carried out, and nothing would follow."""


@dataclass
class Travels:
    """Which links led to a success and how often, and what was not as the document says."""

    walked: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    faults: list[str] = field(default_factory=list)


class Walk(SCHEMA.as_state_machine()):  # type: ignore[misc]
    """Sends what follows on an answer."""

    bench: ClassVar[Bench]
    travels: ClassVar[Travels]

    def step(self, input: StepInput) -> StepOutput:
        case, link = input.case, input.transition
        _let_it_work(case, link)
        response = case.call(base_url=self.bench.server.base_url, **sending())
        self.travels.requests += 1
        self._hold_to_document(case, response)
        if link is not None and response.status_code < 300:
            self.travels.walked[link.id] += 1
        return StepOutput(response, case)

    def _hold_to_document(self, case: schemathesis.Case, response: Response) -> None:
        """A fault is noted, for raised it would have to be there again when the walk is repeated."""
        try:
            hold_to_document(case, response)
        except Exception as fault:
            self.travels.faults.append(f"{fault!r}\n{response.status_code} {case.as_curl_command()}")


def _let_it_work(case: schemathesis.Case, link: Transition | None) -> None:
    working = BODIES_THAT_WORK.get(case.operation.definition.raw["operationId"])
    if working is not None and isinstance(case.body, dict):
        body = link.request_body if link is not None else None
        linked = body.value.ok() if body is not None and isinstance(body.value, Ok) else {}
        case.body = working | {name: case.body[name] for name in _KEPT & case.body.keys()} | linked


def travel(bench: Bench, seeds: int) -> Travels:
    """Walk from so many seeds."""
    travels = Travels()
    settings = searching(WALKS, derandomize=False, stateful_step_count=STEPS)
    for number in range(seeds):
        machine = type("WalkOnBench", (Walk,), {"bench": bench, "travels": travels})
        # Ids and times are new in each walk: one that begins as another did may go on in another way.
        with contextlib.suppress(Flaky):
            seed(number)(machine).run(settings=settings)
    return travels


def test_random_walks_get_documented_answers(bench: Bench) -> None:
    travels = travel(bench, EVERYDAY)
    assert travels.faults == []
    assert len(travels.walked) > 20


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_walks_get_documented_answers(bench: Bench) -> None:
    travels = travel(bench, SOAK)
    assert travels.faults == []

"""Random requests made from the document: none brings about a fault, or an answer that the document lacks."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS

from tests.contract.bench import Bench
from tests.contract.checking import EVENT_STREAM, ROOT, the_contract

SCHEMA = schemathesis.openapi.from_path(ROOT / "openapi.yaml")
EVERYDAY, SOAK = 25, 2000
# `not_a_server_error` would refuse the documented 502 and 503; `a_documented_answer` allows those alone.
WANTED = ["status_code_conformance", "content_type_conformance", "response_schema_conformance"]


def searching(examples: int) -> Any:
    """Bounded and seeded: the same requests every time."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )


@SCHEMA.parametrize()
@searching(EVERYDAY)
def test_random_requests_get_documented_answers(bench: Bench, case: schemathesis.Case) -> None:
    hold_to_document(bench, case)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@SCHEMA.parametrize()
@searching(SOAK)
def test_many_random_requests_get_documented_answers(bench: Bench, case: schemathesis.Case) -> None:
    hold_to_document(bench, case)


def hold_to_document(bench: Bench, case: schemathesis.Case) -> None:
    """Send the request as it is, and once more to a session that is there where it names one."""
    send(bench, case)
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = bench.client.session()
        send(bench, case)


def send(bench: Bench, case: schemathesis.Case) -> None:
    answer = case.call(
        base_url=bench.server.base_url, headers={"Authorization": "Bearer everything"}, timeout=30
    )
    request = answer.request
    body = b"events" if answer.headers.get("content-type", [""])[0] == EVENT_STREAM else answer.content
    headers = [(name, value) for name, values in answer.headers.items() for value in values]
    assert answer.status_code != 500, case.as_curl_command()
    known = the_contract().check(str(request.method), str(request.url), answer.status_code, headers, body)
    if known is not None and body == answer.content:
        case.validate_response(answer, checks=CHECKS.get_by_names(WANTED))

"""Random requests made from the document: none brings about a fault, or an answer that the document lacks."""

import pytest
import schemathesis

from tests.contract.bench import Bench
from tests.contract.searching import SCHEMA, hold_to_document, searching, sending

EVERYDAY, SOAK = 25, 2000


@SCHEMA.parametrize()
@searching(EVERYDAY)
def test_random_requests_get_documented_answers(bench: Bench, case: schemathesis.Case) -> None:
    send_to_nothing_and_something(bench, case)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@SCHEMA.parametrize()
@searching(SOAK)
def test_many_random_requests_get_documented_answers(bench: Bench, case: schemathesis.Case) -> None:
    send_to_nothing_and_something(bench, case)


def send_to_nothing_and_something(bench: Bench, case: schemathesis.Case) -> None:
    """Send the request as it is, and once more to a session that is there where it names one."""
    send(bench, case)
    if "id" in (case.path_parameters or {}):
        case.path_parameters["id"] = bench.client.session()
        send(bench, case)


def send(bench: Bench, case: schemathesis.Case) -> None:
    hold_to_document(case, case.call(base_url=bench.server.base_url, **sending()))

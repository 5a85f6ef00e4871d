"""What random requests have in common: how they are sent, and how their answers are held to the document."""

from typing import Any
from urllib.parse import urlsplit

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS
from schemathesis.core.transport import Response
from urllib3 import HTTPResponse

from tests.contract.checking import EVENT_STREAM, ROOT, the_contract

SCHEMA = schemathesis.openapi.from_path(ROOT / "meka" / "schema" / "openapi.json")
# `not_a_server_error` would refuse the documented 502 and 503; `hold_to_document` allows those alone.
_WANTED = ["status_code_conformance", "content_type_conformance", "response_schema_conformance"]


class HeadsOfFeeds(requests.Session):
    """Lets a feed go once its head is there, for it has no end of its own; a turn's stream has."""

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        answer = super().request(method, url, **options)
        if urlsplit(url).path.endswith("/stream") and answer.ok:
            answer.close()
            answer.raw = HTTPResponse(b"", headers=answer.raw.headers)
        return answer


def sending() -> dict[str, Any]:
    """How a request is sent that may do everything."""
    return {"headers": {"Authorization": "Bearer everything"}, "session": HeadsOfFeeds(), "timeout": 30}


def searching(examples: int, *, derandomize: bool = True, **more: Any) -> Any:
    """Bounded; the same requests every time, unless the test has seeds of its own."""
    return settings(
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
        **more,
    )


def hold_to_document(case: schemathesis.Case, answer: Response) -> None:
    """Nothing but what the document has for this request."""
    request = answer.request
    body = b"events" if answer.headers.get("content-type", [""])[0] == EVENT_STREAM else answer.content
    headers = [(name, value) for name, values in answer.headers.items() for value in values]
    assert answer.status_code != 500, case.as_curl_command()
    known = the_contract().check(str(request.method), str(request.url), answer.status_code, headers, body)
    if known is not None and body == answer.content:
        case.validate_response(answer, checks=CHECKS.get_by_names(_WANTED))

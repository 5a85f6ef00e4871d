"""The application as a client sees it: routes, the guard, the one exit, and what handlers get."""

import copy
import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from meka.wire.auth import Tokens, fingerprint_of
from tests.unit.wire.fixture import AUTH, DOCUMENT, TOKENS, UUID, Calls, make_client


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def client(calls: Calls) -> FlaskClient:
    return make_client(calls)


def problem(answer: TestResponse, status: int, slug: str) -> dict[str, Any]:
    body = json.loads(answer.data)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert list(body)[:5] == ["type", "title", "status", "detail", "instance"]
    assert (body["type"], body["status"]) == (f"https://meka.run/errors/{slug}", status)
    assert body["instance"] == answer.request.path
    return dict(body)


# The guard


def test_open_operation_asks_for_no_token(client: FlaskClient) -> None:
    answer = client.get("/v1/live")
    assert (answer.status_code, answer.data, answer.content_type) == (
        200,
        b'{"status":"ok"}',
        "application/json",
    )


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic writer", "writer", "Bearer unknown"]
)
def test_request_without_a_known_token_is_a_401(client: FlaskClient, header: str | None) -> None:
    answer = client.get("/v1/things", headers={} if header is None else {"Authorization": header})
    problem(answer, 401, "auth")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="meka"'
    assert "unknown" not in json.loads(answer.data).get("token", "")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_scheme_is_read_whatever_its_case(client: FlaskClient, scheme: str) -> None:
    assert client.get("/v1/things", headers={"Authorization": f"{scheme} reader"}).status_code == 200


def test_token_that_is_not_ascii_is_found(client: FlaskClient) -> None:
    header = "Bearer schlüssel".encode().decode("latin-1")
    assert client.get("/v1/things", headers={"Authorization": header}).status_code == 200


def test_missing_scope_is_a_403_that_names_it(client: FlaskClient) -> None:
    reader = {"Authorization": "Bearer reader"}
    body = problem(client.post("/v1/things", headers=reader, data=b"nonsense"), 403, "auth-scope")
    assert body["detail"] == "scope 'sessions:w' is required"
    body = problem(client.get("/v1/info", headers=reader), 403, "auth-scope")
    assert body["detail"] == "one of 'mcp:r', 'skills:r' is required"


def test_token_is_left_for_the_handler(client: FlaskClient) -> None:
    answer = client.get("/v1/info", headers=AUTH)
    assert (answer.status_code, answer.headers["X-Extra"]) == (201, "yes")
    assert answer.json == {
        "fingerprint": fingerprint_of("writer"),
        "scopes": ["mcp:r", "sessions:r", "sessions:w"],
    }
    assert len(fingerprint_of("writer")) == 16


def test_tokens_change_at_run_time(calls: Calls) -> None:
    tokens = Tokens(TOKENS)
    client = make_client(calls, tokens=tokens)
    tokens.replace(TOKENS[1:])
    assert client.get("/v1/things", headers=AUTH).status_code == 401
    assert client.get("/v1/things", headers={"Authorization": "Bearer reader"}).status_code == 200


def test_head_needs_what_get_needs(client: FlaskClient) -> None:
    assert client.head("/v1/things").status_code == 401
    answer = client.head("/v1/things", headers=AUTH)
    assert (answer.status_code, answer.data) == (200, b"")


def test_operation_without_a_rule_of_access_stops_the_start(calls: Calls) -> None:
    document = copy.deepcopy(DOCUMENT)
    del document["paths"]["/v1/info"]["get"]["x-scopes"]
    with pytest.raises(ValueError, match="'info' has neither"):
        make_client(calls, document)


def test_parameter_of_an_unknown_type_stops_the_start(calls: Calls) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["paths"]["/v1/things"]["get"]["parameters"][0]["schema"] = {"type": "array", "items": {}}
    with pytest.raises(ValueError, match="'array'"):
        make_client(calls, document)


# Routes


@pytest.mark.parametrize(
    "path", ["/", "/v1/nothing", "/v1/things/", "//v1//things", f"/v1/things/{UUID}%2Fx"]
)
def test_unknown_path_is_a_404_for_everybody(client: FlaskClient, path: str) -> None:
    problem(client.get(path), 404, "not-found")


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "BREW"])
def test_wrong_method_is_a_405_that_lists_the_right_ones(client: FlaskClient, method: str) -> None:
    answer = client.open("/v1/things", method=method)
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["Allow"] == "GET, HEAD, POST"


# Errors


def test_error_carries_its_members_and_retry_after(client: FlaskClient) -> None:
    answer = client.delete(f"/v1/things/{UUID}?how=limit", headers=AUTH)
    assert problem(answer, 429, "concurrency-limit")["retry_after"] == 7
    assert answer.headers["Retry-After"] == "7"


def test_failure_is_logged_and_not_told(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.delete(f"/v1/things/{UUID}?how=badly", headers=AUTH)
    body = problem(answer, 500, "internal")
    assert body["detail"] == "internal server error; consult server logs"
    assert b"secret" not in answer.data
    assert caplog.records[0].exc_info is not None
    assert "a secret of ours" in str(caplog.records[0].exc_info[1])


# Parameters


def test_parameters_arrive_typed(client: FlaskClient, calls: Calls) -> None:
    query = f"limit=3&pinned=true&parent={UUID.upper()}&updated_since=2026-01-02T03:04:05.6%2B01:00"
    assert client.get(f"/v1/things?{query}&q=a%2Cb&unknown=1&unknown=2", headers=AUTH).status_code == 200
    assert calls.last == {
        "limit": 3,
        "pinned": True,
        "parent": UUID,
        "updated_since": datetime(2026, 1, 2, 2, 4, 5, 600000, tzinfo=UTC),
        "q": "a,b",
    }


def test_parameter_left_out_takes_its_default_or_stays_out(client: FlaskClient, calls: Calls) -> None:
    client.get("/v1/things", headers=AUTH)
    assert calls.last == {"limit": 50}


def test_text_parameter_may_be_empty_and_is_scrubbed(client: FlaskClient, calls: Calls) -> None:
    client.get("/v1/things?q=a%00b", headers=AUTH)
    assert calls.last["q"] == "a\ufffdb"
    client.get("/v1/things?q=", headers=AUTH)
    assert calls.last["q"] == ""


def test_header_wins_over_the_query(client: FlaskClient, calls: Calls) -> None:
    client.get("/v1/things?last_event_id=1", headers=AUTH)
    assert calls.last["last_event_id"] == "1"
    client.get("/v1/things?last_event_id=1", headers={**AUTH, "Last-Event-ID": "2"})
    assert calls.last["last_event_id"] == "2"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=x", "limit"),
        ("limit=", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.0", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=%D9%A3", "limit"),
        ("pinned=1", "pinned"),
        ("pinned=True", "pinned"),
        ("parent=nope", "parent"),
        ("updated_since=2026-01-01", "updated_since"),
        ("updated_since=2026-02-30T00:00:00Z", "updated_since"),
        ("updated_since=0001-01-01T00:00:00%2B23:00", "updated_since"),
        ("limit=1&limit=1", "limit"),
        ("cursor=a&cursor=a", "cursor"),
    ],
)
def test_bad_query_value_is_a_400_that_names_it(client: FlaskClient, query: str, named: str) -> None:
    body = problem(client.get(f"/v1/things?{query}", headers=AUTH), 400, "invalid-body")
    assert body["detail"].startswith(f"query parameter `{named}` ")


def test_bad_query_values_are_all_named(client: FlaskClient) -> None:
    detail = problem(client.get("/v1/things?limit=x&pinned=x", headers=AUTH), 400, "invalid-body")["detail"]
    assert detail == (
        "query parameter `limit` must be an integer; query parameter `pinned` must be true or false"
    )


@pytest.mark.parametrize("query", ["status=lost", "cursor=far-too-long"])
def test_bad_status_or_cursor_is_a_422(client: FlaskClient, query: str) -> None:
    problem(client.get(f"/v1/things?{query}", headers=AUTH), 422, "invalid-body")


def test_id_that_is_no_uuid_is_a_400(client: FlaskClient) -> None:
    detail = problem(client.get("/v1/things/nope", headers=AUTH), 400, "invalid-body")["detail"]
    assert detail == "path parameter `id` must be a UUID"


def test_id_arrives_in_its_canonical_spelling(client: FlaskClient, calls: Calls) -> None:
    answer = client.get(f"/v1/things/{UUID.upper()}", headers=AUTH)
    assert (answer.data, answer.content_type) == (b"raw", "application/octet-stream")
    assert calls.last == {"id": UUID}


def test_instant_with_an_unescaped_plus_is_understood(client: FlaskClient, calls: Calls) -> None:
    client.get("/v1/things?updated_since=2026-01-02T03:00:00+02:00", headers=AUTH)
    assert calls.last["updated_since"] == datetime(2026, 1, 2, 1, tzinfo=UTC)

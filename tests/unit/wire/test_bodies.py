"""Request bodies: what is read, what is refused, and how every fault is named."""

import hashlib
import json
import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from meka.base.errors import InvalidBodyError
from meka.wire.bodies import BodyReader
from tests.unit.wire.fixture import AUTH, UUID, Calls, make_client

GOOD = {"name": "a", "size": 1}


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def client(calls: Calls) -> FlaskClient:
    return make_client(calls)


def post(
    client: FlaskClient, body: Any, path: str = "/v1/things", content_type: str = "application/json"
) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, headers=AUTH, data=raw, content_type=content_type)


def refused(client: FlaskClient, body: Any, status: int = 422) -> str:
    answer = post(client, body)
    problem = json.loads(answer.data)
    assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
    assert problem["type"] == "https://meka.run/errors/invalid-body"
    what, _, sentences = str(problem["detail"]).partition(": ")
    assert what == "invalid create thing request body"
    return sentences


def test_body_reaches_the_handler(client: FlaskClient, calls: Calls) -> None:
    raw = b'{"size": 9, "name": "\\u00e4\\ud83d\\ude00", "free": {"n": null, "f": 1.5e3}}'
    answer = post(client, raw, content_type="application/json; charset=utf-8")
    assert answer.json == {"digest": hashlib.sha256(raw).hexdigest()}
    assert calls.last == {"size": 9, "name": "ä😀", "free": {"n": None, "f": 1500.0}}


def test_body_names_every_field_at_fault(client: FlaskClient) -> None:
    body = {
        "size": "x",
        "oops": 1,
        "options": {"color": 3, "hue": 1, "shade": 1},
        "parts": [{"kind": "hash", "hash": "h"}, {"kind": "data"}, {"kind": "data", "data": 5, "x": 1}],
    }
    sentences = refused(client, body).split("; ")
    assert sorted(sentences) == sorted(
        [
            "`name` is missing",
            "`size` must be an integer",
            "`oops` is not a known field",
            "`options.color` must be a string",
            "`options.hue` is not a known field",
            "`parts[1].data` is missing",
            "`parts[2].data` must be a string",
            "`parts[2].x` is not a known field",
        ]
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("name", "", "`name` must not be empty"),
        ("size", 0, "`size` must be at least 1"),
        ("size", 10, "`size` must be at most 9"),
        ("size", 1.0, "`size` must be an integer"),
        ("size", True, "`size` must be an integer"),
        ("size", None, "`size` must be an integer"),
        ("level", "mid", "`level` must be one of 'low', 'high'"),
        ("when", "today", "`when` must be an RFC 3339 instant"),
        ("parts", [{"kind": "hash", "hash": ""}] * 4, "`parts` must have at most 3 items"),
        ("parts", [3], "`parts[0]` has none of the forms it may have"),
        ("parts", [{"kind": "other"}], "`parts[0].kind` must be one of 'hash'"),
    ],
)
def test_body_says_what_a_field_must_be(client: FlaskClient, field: str, value: Any, sentence: str) -> None:
    assert sentence in refused(client, GOOD | {field: value})


def test_body_of_another_type_is_refused(client: FlaskClient) -> None:
    assert refused(client, [GOOD]) == "the body must be an object"
    assert refused(client, b"null") == "the body must be an object"


def test_body_at_fault_is_never_echoed(client: FlaskClient) -> None:
    assert "hunter2" not in refused(
        client, GOOD | {"level": "hunter2", "size": "hunter2", "parts": ["hunter2"]}
    )


def test_body_with_many_faults_names_the_first_ones(client: FlaskClient) -> None:
    assert refused(client, GOOD | {f"x{number}": 1 for number in range(500)}).count(";") == 19


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "the body is empty"),
        (b"{", "Expecting property name enclosed in double quotes at line 1 column 2"),
        (b'{"name": "a",\n "size": }', "Expecting value at line 2 column 10"),
        (b"{} {}", "Extra data at line 1 column 4"),
        (b'{"name": "a\nb"}', "Invalid control character at at line 1 column 12"),
        (b"\xff", "not valid UTF-8 at byte 0"),
        (b'{"name": "\xed\xa0\x80"}', "not valid UTF-8 at byte 10"),
        (b'{"size": NaN}', "`size` is NaN, which JSON does not have"),
        (b'{"free": {"a": [0, -Infinity]}}', "`free.a[1]` is -Infinity, which JSON does not have"),
        (b'{"weight": 1e999}', "`weight` is a number out of range"),
        (b'{"size": 99999999999999999999}', "`size` is a number out of range"),
        (b'{"size": ' + b"9" * 5000 + b"}", "`size` is a number out of range"),
        (b'{"name": "a", "size": 1, "name": "b"}', "the field `name` is given twice"),
        (b'{"free": {"a": {"b": 1, "b": 1}}}', "the field `b` is given twice"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64 levels"),
        (b"[" * 100_000, "nested deeper than 64 levels"),
        (b'{"a":' * 100_000, "nested deeper than 64 levels"),
        (b'{"free": {"a": ' + b"[" * 500 + b"]" * 500 + b"}}", "nested deeper than 64 levels"),
    ],
)
def test_body_that_is_no_plain_json_is_refused(client: FlaskClient, raw: bytes, sentence: str) -> None:
    assert refused(client, raw) == sentence


def test_body_nested_as_deep_as_may_be_is_read(client: FlaskClient, calls: Calls) -> None:
    raw = b'{"name": "a", "size": 1, "free": {"a": ' + b"[" * 62 + b"]" * 62 + b"}}"
    assert post(client, raw).status_code == 200


def test_body_with_many_brackets_is_read_when_it_is_flat(client: FlaskClient) -> None:
    assert post(client, GOOD | {"free": {"a": [[]] * 200}}).status_code == 200


def test_body_has_lone_surrogates_and_nul_replaced(client: FlaskClient, calls: Calls) -> None:
    post(client, b'{"name": "a\\ud800\\u0000", "size": 1, "free": {"\\udfff": "\\ud83d\\ude00"}}')
    assert calls.last == {"name": "a\ufffd\ufffd", "size": 1, "free": {"\ufffd": "😀"}}


def test_body_has_no_field_that_was_null(client: FlaskClient, calls: Calls) -> None:
    part = {"kind": "data", "data": "d", "note": None}
    post(
        client,
        GOOD | {"level": None, "when": None, "options": {"color": None, "shade": None}, "parts": [part]},
    )
    assert calls.last == GOOD | {"options": {"shade": None}, "parts": [{"kind": "data", "data": "d"}]}
    post(client, GOOD | {"options": None})
    assert calls.last == GOOD


def test_body_keeps_a_null_that_unsets(client: FlaskClient, calls: Calls) -> None:
    post(client, GOOD | {"unset": None})
    assert calls.last == GOOD | {"unset": None}


def test_body_with_a_null_where_none_may_be_is_refused(client: FlaskClient) -> None:
    assert refused(client, {"name": None, "size": 1}) == "`name` must be a string"


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_body_of_another_content_type_is_a_415(client: FlaskClient, content_type: str) -> None:
    answer = client.post("/v1/things", headers={**AUTH, "Content-Type": content_type}, data=b'{"name": "a"}')
    assert (answer.status_code, json.loads(answer.data)["type"].rpartition("/")[2]) == (
        415,
        "unsupported-media-type",
    )


def test_optional_body_may_be_empty(client: FlaskClient, calls: Calls) -> None:
    for content_type in ("application/json", "application/x-www-form-urlencoded"):
        assert post(client, b"", f"/v1/things/{UUID}", content_type).status_code == 204
        assert calls.last == {}


def test_body_is_called_what_the_document_calls_it(client: FlaskClient) -> None:
    detail = json.loads(post(client, {"x": 1}, f"/v1/things/{UUID}").data)["detail"]
    assert detail == "invalid poking request body: `x` is not a known field"


def test_large_body_is_read_in_a_thread(client: FlaskClient, calls: Calls) -> None:
    assert post(client, GOOD | {"name": "a" * 300_000}).status_code == 200
    assert len(calls.last["name"]) == 300_000
    assert "`name` must have at most" in refused(client, GOOD | {"name": "a" * 500_000})


def test_fault_of_a_body_is_not_logged(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        refused(client, GOOD | {"size": "hunter2"})
    assert not caplog.records


@pytest.mark.parametrize(
    "unit", [b'"",', b"null,", b"1,", b"[],", b"{},", b'{"a":1},', b'"\\"",', b'"\\\\",', b'"a,b",']
)
def test_body_of_too_many_values_is_refused_unread(client: FlaskClient, unit: bytes) -> None:
    raw = b'{"free": {"a": [' + unit * 10_000 + b"0]}}"
    assert refused(client, raw) == "holds more than 5000 values"


def test_body_with_a_density_may_hold_more_the_longer_it_is() -> None:
    reader = BodyReader({"type": "array"}, "thing", required=True, values_a_kibibyte=64)
    sparse, dense = (b"[" + unit * 20_000 + b"0]" for unit in (b'"' + b"w" * 16 + b'",', b'"w",'))
    assert len(reader.read(sparse, "application/json")) == 20_001
    with pytest.raises(InvalidBodyError, match="holds more than 5000 values"):
        reader.read(dense, "application/json")


@pytest.mark.parametrize("raw", [b'{"name": "' + b"a" * 70_000 + b'"', b"[" + b"[]," * 300 + b"0]"])
def test_body_that_takes_time_is_read_elsewhere(calls: Calls, raw: bytes) -> None:
    elsewhere: list[str] = []

    def offload(function: Any, *arguments: Any) -> Any:
        elsewhere.append(function.__name__)
        return function(*arguments)

    busy = make_client(calls, offload=offload)
    assert post(busy, raw).status_code == 422
    assert elsewhere == ["_read"]
    assert post(busy, GOOD).status_code == 200
    assert elsewhere == ["_read"]

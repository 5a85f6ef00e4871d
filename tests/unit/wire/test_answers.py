"""JSON answers."""

import pytest

from meka.wire.answers import dump_json, no_content, render


def test_json_is_compact_and_keeps_its_order() -> None:
    assert dump_json({"b": [1, 2.5, None], "a": "ä\n"}) == '{"b":[1,2.5,null],"a":"ä\\n"}'.encode()


def test_json_of_a_lone_surrogate_is_still_utf_8() -> None:
    assert dump_json("a\ud800") == '"a\ufffd"'.encode()


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json(float("nan"))


def test_answer_without_a_body_has_no_content_type() -> None:
    response = no_content(headers={"ETag": '"1-1"'})
    assert (response.status_code, response.headers["ETag"]) == (204, '"1-1"')
    assert "Content-Type" not in response.headers


def test_answer_of_a_handler_is_rendered() -> None:
    assert render([]).data == b"[]"
    assert render(None).status_code == 204
    assert render(({}, 202)).status_code == 202
    assert render((None, 204, {"X": "1"})).headers["X"] == "1"

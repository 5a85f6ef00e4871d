"""JSON as answers and events carry it: compact, in the order the keys were set."""

import json
from collections.abc import Mapping

import flask

from meka.base.text import scrub

JSON = "application/json"
PROBLEM_JSON = "application/problem+json"


def dump_json(value: object) -> bytes:
    """`value` as one line of compact UTF-8 JSON.

    Raises: `ValueError` for NaN and the infinities, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return scrub(text).encode()


def json_response(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None, *, content_type: str = JSON
) -> flask.Response:
    """An answer with `body` as its JSON."""
    return flask.Response(dump_json(body), status, headers, content_type=content_type)


def no_content(status: int = 204, headers: Mapping[str, str] | None = None) -> flask.Response:
    """An answer without a body."""
    response = flask.Response(b"", status, headers)
    del response.headers["Content-Type"]
    return response


def render(answer: object) -> flask.Response:
    """What a handler returned, as a response.

    Shape: a response as it is; None is a 204; a pair or triple is body, status and headers; anything else is
    the JSON of a 200.
    """
    if isinstance(answer, flask.Response):
        return answer
    if answer is None:
        return no_content()
    if isinstance(answer, tuple):
        body, *rest = answer
        return no_content(*rest) if body is None else json_response(body, *rest)
    return json_response(answer)

"""Errors of the frameworks, translated into ours."""

import pytest
from connexion.exceptions import ProblemException
from werkzeug.exceptions import (
    BadGateway,
    BadRequest,
    HTTPException,
    ImATeapot,
    NotFound,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

from meka.base.errors import InternalError, TurnMismatchError
from meka.wire.problems import known_error


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (NotFound(), 404, "not-found"),
        (RequestEntityTooLarge(), 413, "payload-too-large"),
        (UnsupportedMediaType(), 415, "unsupported-media-type"),
        (BadRequest(), 400, "invalid-body"),
        (ImATeapot(), 400, "invalid-body"),
        (BadGateway(), 500, "internal"),
        (HTTPException(), 500, "internal"),
        (ProblemException(400, "t", "d"), 400, "invalid-body"),
        (ProblemException(500, "t", "d"), 500, "internal"),
        (KeyError("x"), 500, "internal"),
    ],
)
def test_error_of_a_framework_becomes_ours(error: Exception, status: int, slug: str) -> None:
    known = known_error(error, "/path")
    assert (known.status, known.slug) == (status, slug)


def test_error_of_ours_stays_as_it_is() -> None:
    error = TurnMismatchError("another turn")
    assert known_error(error, "/path") is error


def test_sentence_of_a_framework_is_not_passed_on() -> None:
    assert known_error(BadRequest("internals"), "/path").detail == "bad request"
    assert known_error(KeyError("internals"), "/path").detail == InternalError().detail

"""The one exit of errors: whatever was raised becomes one of our errors, and that a problem (RFC 9457)."""

import logging

import flask
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from meka.base.errors import (
    AuthError,
    InternalError,
    InvalidBodyError,
    MekaError,
    MethodNotAllowedError,
    NotFoundError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
    problem_of,
)
from meka.wire.answers import PROBLEM_JSON, json_response
from meka.wire.framework import ProblemException

logger = logging.getLogger(__name__)

_CHALLENGE = 'Bearer realm="meka"'


def problem_response(error: BaseException, instance: str) -> flask.Response:
    """The answer to `error`; a fault of ours is logged with its traceback, which the client never sees."""
    known = known_error(error, instance)
    _log(known, error, instance)
    return json_response(
        problem_of(known, instance), known.status, _headers(known, error), content_type=PROBLEM_JSON
    )


def known_error(error: BaseException, path: str) -> MekaError:
    """`error` as one of ours: itself, a framework's error translated, or an `InternalError`."""
    if isinstance(error, MekaError):
        return error
    if isinstance(error, HTTPException):
        return _translated(error.code or 500, error.name.lower(), path)
    if isinstance(error, ProblemException):
        return _translated(error.status, error.detail or error.title, path)
    return InternalError()


def _translated(status: int, detail: str, path: str) -> MekaError:
    if status == 404:
        return NotFoundError(f"nothing is at '{path}'")
    if status == 405:
        return MethodNotAllowedError(f"the method is not allowed at '{path}'")
    if status == 413:
        return PayloadTooLargeError(detail)
    if status == 415:
        return UnsupportedMediaTypeError(detail)
    return InvalidBodyError(detail, status=400) if 400 <= status < 500 else InternalError()


def _headers(known: MekaError, error: BaseException) -> dict[str, str]:
    headers = {}
    if isinstance(known, AuthError):
        headers["WWW-Authenticate"] = _CHALLENGE
    if "retry_after" in known.members:
        headers["Retry-After"] = str(known.members["retry_after"])
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return headers


def _log(known: MekaError, error: BaseException, path: str) -> None:
    if isinstance(known, InternalError):
        logger.error("internal error at %s", path, exc_info=error)
    elif known.status >= 500:
        logger.warning("%s at %s: %s", known.slug, path, known.detail)

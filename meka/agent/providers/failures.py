"""How an upstream's answer is sorted into our causes, and the sentences that we say of each."""

import json
import re
from collections.abc import Mapping
from typing import Any

from meka.agent.providers.base import Cause, ProviderError

SENTENCES: Mapping[Cause, str] = {
    Cause.TRANSIENT: "the model provider is temporarily unavailable",
    Cause.QUOTA: "the model provider refused the request: its quota or credit is spent",
    Cause.CREDENTIAL: "the model provider refused the credential",
    Cause.MALFORMED: "the model provider judged the request malformed",
    Cause.OVERFLOW: "the conversation does not fit the model's context window",
    Cause.TOO_LARGE: "the request is larger than the profile's max_request_bytes allows",
    Cause.OTHER: "the model provider could not serve the request",
}
STREAM_CUT = "the model provider's reply broke off before it was complete"
UNREADABLE_REPLY = "the model provider's reply could not be understood"
OVERSIZED_REPLY = "the model provider's reply is larger than 64 MiB"

_OVERFLOW_MARKS = (
    "prompt is too long",
    "context_length_exceeded",
    "context length exceeded",
    "maximum context length",
    "exceeds the maximum context",
    "exceed_context_size",  # llama.cpp
)
_CREDIT_MARK = "credit balance is too low"
_SPENT_MARKS = ("insufficient_quota", "usage_limit_reached")

_STREAM_CAUSES: Mapping[str, Cause] = {
    "overloaded_error": Cause.TRANSIENT,
    "rate_limit_error": Cause.TRANSIENT,
    "api_error": Cause.TRANSIENT,
    "server_error": Cause.TRANSIENT,
    "rate_limit_exceeded": Cause.TRANSIENT,
    "overloaded": Cause.TRANSIENT,
    "insufficient_quota": Cause.QUOTA,
    "usage_limit_reached": Cause.QUOTA,
    "billing_error": Cause.QUOTA,
    "authentication_error": Cause.CREDENTIAL,
    "permission_error": Cause.CREDENTIAL,
    "context_length_exceeded": Cause.OVERFLOW,
}


def failure(
    cause: Cause,
    upstream: str | None = None,
    *,
    sentence: str | None = None,
    retry_after: int | None = None,
    status: int | None = None,
    oversize: tuple[int, int] | None = None,
) -> ProviderError:
    """The error of one failed request, in our own words unless `sentence` says it better."""
    return ProviderError(
        cause,
        sentence or SENTENCES[cause],
        upstream=upstream,
        retry_after=retry_after,
        status=status,
        oversize=oversize,
    )


def stream_cut() -> ProviderError:
    """The error of a stream that ended before the model said why it stopped."""
    return failure(Cause.TRANSIENT, sentence=STREAM_CUT)


def unreadable(upstream: str | None = None) -> ProviderError:
    """The error of a successful answer that holds no reply of the protocol."""
    return failure(Cause.OTHER, upstream, sentence=UNREADABLE_REPLY)


def status_failure(status: int, body: str, headers: Mapping[str, str]) -> ProviderError:
    """The error of an answer with a status that is no success."""
    if 300 <= status < 400:
        location = headers.get("Location", "no location")
        return failure(
            Cause.OTHER,
            f"{status} redirect to {location}",
            sentence="the model provider answered with a redirect, which is not followed",
            status=status,
        )
    cause = status_cause(status, body)
    retry_after = read_retry_after(headers.get("Retry-After"))
    if retry_after is None and cause is Cause.QUOTA:
        retry_after = _seconds_to_reset(body)
    return failure(cause, body or None, retry_after=retry_after, status=status)


def status_cause(status: int, body: str) -> Cause:
    """Why an upstream answered a completion with `status`."""
    text = body.lower()
    if status >= 500:
        return Cause.TRANSIENT
    if status == 429:
        return Cause.QUOTA if any(mark in text for mark in _SPENT_MARKS) else Cause.TRANSIENT
    if status == 413 or any(mark in text for mark in _OVERFLOW_MARKS):
        return Cause.OVERFLOW
    if status == 402 or (status == 400 and _CREDIT_MARK in text):
        return Cause.QUOTA
    if status in (401, 403):
        return Cause.CREDENTIAL
    return Cause.MALFORMED if status in (400, 422) else Cause.OTHER


def stream_failure(error: object) -> ProviderError:
    """The error that an upstream reports inside an answer it began with a success.

    Shape: an object with `type`, `code` and `message`, or anything else that a gateway puts there.
    """
    upstream = json.dumps(error, ensure_ascii=False)
    marks = (error.get("code"), error.get("type")) if isinstance(error, Mapping) else (error,)
    for mark in marks:
        cause = _mark_cause(mark)
        if cause is not None:
            return failure(cause, upstream)
    return failure(Cause.OTHER, upstream)


def _mark_cause(mark: object) -> Cause | None:
    if isinstance(mark, str) and re.fullmatch(r"[0-9]{3}", mark):
        mark = int(mark)
    if isinstance(mark, int):
        return Cause.TRANSIENT if mark == 429 or 500 <= mark < 600 else None
    return _STREAM_CAUSES.get(mark) if isinstance(mark, str) else None


def read_retry_after(value: str | None) -> int | None:
    """A `Retry-After` in whole seconds; a date or anything else counts for nothing."""
    if value is None or not re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        return None
    return int(value)


def _seconds_to_reset(body: str) -> int | None:
    found = re.search(r'"resets_in_seconds"\s*:\s*([0-9]{1,9})\b', body)
    return int(found[1]) if found else None


def error_of(body: Mapping[str, Any]) -> object | None:
    """The error that a whole reply holds in place of an answer, or None."""
    error = body.get("error")
    return error if error else None

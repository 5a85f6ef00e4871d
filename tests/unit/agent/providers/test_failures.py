"""How refusals are sorted where the drivers' tests do not reach."""

import pytest

from meka.agent.providers.base import Cause
from meka.agent.providers.failures import SENTENCES, read_retry_after, status_failure, stream_failure


def test_every_cause_has_a_sentence_of_ours() -> None:
    assert set(SENTENCES) == set(Cause)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        ("86400", 86400),
        ("-1", None),
        ("1e3", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_a_retry_after_is_whole_seconds(value: str | None, seconds: int | None) -> None:
    assert read_retry_after(value) == seconds


def test_a_spent_limit_says_when_it_is_reset() -> None:
    body = '{"error": {"type": "usage_limit_reached", "resets_in_seconds": 420}}'

    error = status_failure(429, body, {})

    assert (error.cause, error.status, error.retry_after) == (Cause.QUOTA, 429, 420)


def test_a_stated_retry_after_stands_over_the_reset() -> None:
    body = '{"error": {"type": "usage_limit_reached", "resets_in_seconds": 420}}'

    assert status_failure(429, body, {"Retry-After": "5"}).retry_after == 5


@pytest.mark.parametrize("error", ["text", 7, ["a"], {"code": {"nested": 1}}, {"type": None}, {"code": True}])
def test_an_error_of_no_known_shape_is_other(error: object) -> None:
    assert stream_failure(error).cause is Cause.OTHER

"""Three attempts, spaced and bounded; one more for an upstream's own fault; none once output was seen."""

from collections.abc import Callable

import pytest

from meka.agent.cancel import Cancel, CanceledError
from meka.agent.providers.base import (
    Accepted,
    AttemptFailed,
    Cause,
    MessageEnd,
    ProviderError,
    ProviderEvent,
    ProviderNotice,
    StopReason,
    TextDelta,
)
from meka.agent.providers.retry import stream_with_retries
from meka.agent.providers.scripted import ScriptedProvider, ScriptEvent
from tests.unit.agent.providers.samples import a_request


class FakeTime:
    """A clock and a cancel in one: waiting moves the clock."""

    def __init__(self, canceled_in_wait: int | None = None) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []
        self._canceled_in_wait = canceled_in_wait

    def monotonic(self) -> float:
        return self.seconds

    def check(self) -> None:
        """Never canceled between waits."""

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.seconds += seconds
        return len(self.waits) == self._canceled_in_wait


Script = list[dict[str, object]]
BUSY: Script = [{"type": "fail_retryable", "message": "busy"}]
CUT: Script = [{"type": "text", "text": "half"}, {"type": "fail_stream"}]
LIMITED: Script = [{"type": "fail_retryable", "status": 429}]
GOOD: Script = [{"type": "text", "text": "good"}]


def attempt(
    rounds: list[Script], time: FakeTime, was_published: Callable[[], bool] = lambda: False
) -> tuple[list[ProviderEvent], ProviderError | None, ScriptedProvider]:
    provider = ScriptedProvider(rounds)
    events: list[ProviderEvent] = []
    stream = stream_with_retries(provider, a_request(), cancel=time, clock=time, was_published=was_published)
    try:
        for event in stream:
            events.append(event)
    except ProviderError as error:
        return events, error, provider
    return events, None, provider


def test_a_transient_failure_is_tried_again_and_voided_before_the_wait() -> None:
    time = FakeTime()

    events, error, _ = attempt([CUT, GOOD], time)

    assert error is None
    assert events[:2] == [Accepted(), TextDelta("half")]
    failed = events[2]
    assert isinstance(failed, AttemptFailed)
    assert (failed.error.cause, failed.wait_seconds) == (Cause.TRANSIENT, 1.0)
    assert events[3:] == [Accepted(), TextDelta("good"), MessageEnd(StopReason.END_TURN)]


@pytest.mark.parametrize("script", [CUT, LIMITED])
def test_three_attempts_are_made_one_and_two_seconds_apart(script: Script) -> None:
    time = FakeTime()

    _, error, provider = attempt([script] * 5, time)

    assert error is not None
    assert time.waits == [1.0, 2.0]
    assert len(provider.requests) == 3


def test_a_5xx_has_one_more_attempt_after_eight_seconds_with_a_notice() -> None:
    time = FakeTime()

    events, error, provider = attempt([BUSY] * 3 + [GOOD], time)

    assert error is None
    assert time.waits == [1.0, 2.0, 8.0]
    assert len(provider.requests) == 4
    assert [event.level for event in events if isinstance(event, ProviderNotice)] == ["warn"]


def test_there_is_no_fifth_attempt() -> None:
    _, error, provider = attempt([BUSY] * 9, FakeTime())

    assert error is not None
    assert error.upstream == "busy"
    assert len(provider.requests) == 4


def test_what_counts_for_the_extra_attempt_is_the_last_failure() -> None:
    _, _, ended_in_cut = attempt([BUSY, BUSY, CUT, GOOD], FakeTime())
    _, _, ended_in_5xx = attempt([CUT, CUT, BUSY, GOOD], FakeTime())

    assert len(ended_in_cut.requests) == 3
    assert len(ended_in_5xx.requests) == 4


@pytest.mark.parametrize(
    ("stated", "waits"),
    [(0, [0.0, 0.0, 8.0]), (5, [5.0, 5.0, 8.0]), (20, [20.0, 20.0, 20.0]), (3600, [60.0, 60.0, 60.0])],
)
def test_a_stated_retry_after_replaces_the_wait_up_to_a_minute(stated: int, waits: list[float]) -> None:
    time = FakeTime()

    attempt([[{"type": "fail_retryable", "retry_after_secs": stated}]] * 9, time)

    assert time.waits == waits


def test_no_attempt_begins_past_the_budget() -> None:
    time = FakeTime()

    def slow_cut() -> None:
        time.seconds += 299.5

    script: list[ScriptEvent] = [slow_cut, *CUT]
    provider = ScriptedProvider([script] * 3)
    events = stream_with_retries(provider, a_request(), cancel=time, clock=time, was_published=lambda: False)
    with pytest.raises(ProviderError):
        list(events)

    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    "kind",
    [
        "fail",
        "fail_invalid_request",
        "fail_context_overflow",
        "fail_quota",
        "fail_credential",
        "fail_too_large",
    ],
)
def test_other_failures_are_final(kind: str) -> None:
    _, error, provider = attempt([[{"type": kind}], GOOD], FakeTime())

    assert error is not None
    assert len(provider.requests) == 1


@pytest.mark.parametrize("script", [CUT, BUSY])
def test_nothing_is_tried_once_output_was_published(script: Script) -> None:
    events, error, provider = attempt([script, GOOD], FakeTime(), lambda: True)

    assert error is not None
    assert len(provider.requests) == 1
    assert not any(isinstance(event, AttemptFailed) for event in events)


def test_a_cancel_ends_the_wait() -> None:
    with pytest.raises(CanceledError):
        attempt([CUT, GOOD], FakeTime(canceled_in_wait=1))


def test_a_cancel_before_the_wait_ends_it_too() -> None:
    cancel = Cancel()
    stream = stream_with_retries(
        ScriptedProvider([CUT, GOOD]),
        a_request(),
        cancel=cancel,
        clock=FakeTime(),
        was_published=lambda: False,
    )
    for event in stream:
        if isinstance(event, AttemptFailed):
            break
    cancel.request("client")

    with pytest.raises(CanceledError, match="client"):
        next(stream)

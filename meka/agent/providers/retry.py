"""The attempts at one request: three, spaced out, and one more where the upstream's own fault ended them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from meka.agent.cancel import CanceledError
from meka.agent.providers.base import (
    AttemptFailed,
    Cause,
    ModelRequest,
    Provider,
    ProviderError,
    ProviderEvent,
    ProviderNotice,
)

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 8.0
MAX_RETRY_AFTER_SECONDS = 60.0
BUDGET_SECONDS = 300.0
EXTRA_WAIT_SECONDS = 8.0


class CancelWait(Protocol):
    """The part of `Cancel` that a wait needs."""

    def check(self) -> None: ...
    def wait(self, seconds: float) -> bool: ...


class Monotonic(Protocol):
    """The part of `Clock` that a budget needs."""

    def monotonic(self) -> float: ...


def stream_with_retries(
    provider: Provider,
    request: ModelRequest,
    *,
    cancel: CancelWait,
    clock: Monotonic,
    was_published: Callable[[], bool],
    fall_back: Callable[[ProviderError], str | None] = lambda _error: None,
) -> Iterator[ProviderEvent]:
    """The events of `request`, attempt after attempt.

    An `AttemptFailed` voids what came before it; another attempt follows after its wait. `was_published` says
    whether a client has seen output of this request, which bars any further attempt. `fall_back` may let
    another profile stand behind `provider` once the attempts are spent; it names that profile.
    Raises: ProviderError (the last attempt's), CanceledError.
    """
    plan = _Plan(clock)
    while True:
        try:
            yield from provider.stream(request)
        except ProviderError as error:
            if was_published():
                raise
            step = plan.after(error)
            if step is None:
                plan, step = _Plan(clock), _stand_in_step(fall_back(error))
            if step is None:
                raise
            failed = error
        else:
            return
        yield AttemptFailed(failed, step.wait_seconds)
        if step.notice:
            yield ProviderNotice("warn", step.notice)
        _pause(cancel, step.wait_seconds)


@dataclass(frozen=True, slots=True)
class _Step:
    """Another attempt, after a wait."""

    wait_seconds: float
    notice: str = ""


class _Plan:
    """What follows each failure of one request."""

    def __init__(self, clock: Monotonic) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._failures = 0
        self._spent = False

    def after(self, error: ProviderError) -> _Step | None:
        """The next attempt, or None when there is none."""
        self._failures += 1
        if error.cause is not Cause.TRANSIENT or self._spent:
            return None
        wait = self._wait(error)
        elapsed = self._clock.monotonic() - self._began
        if self._failures < ATTEMPTS and elapsed + wait < BUDGET_SECONDS:
            return _Step(wait)
        self._spent = True
        return _extra_attempt(error)

    def _wait(self, error: ProviderError) -> float:
        if error.retry_after is not None:
            return min(float(error.retry_after), MAX_RETRY_AFTER_SECONDS)
        return min(FIRST_WAIT_SECONDS * 2.0 ** (self._failures - 1), MAX_WAIT_SECONDS)


def _stand_in_step(profile: str | None) -> _Step | None:
    """The first attempt of a profile that takes over."""
    if profile is None:
        return None
    return _Step(0.0, f"the profile cannot serve this turn; '{profile}' stands in for it")


def _extra_attempt(error: ProviderError) -> _Step | None:
    """One attempt more, unchanged, where the upstream answered with a fault of its own (a 5xx)."""
    if error.status is None or not 500 <= error.status < 600:
        return None
    wait = min(max(float(error.retry_after or 0), EXTRA_WAIT_SECONDS), MAX_RETRY_AFTER_SECONDS)
    return _Step(
        wait, f"the model provider keeps failing; one more attempt with the same request in {wait:g} s"
    )


def _pause(cancel: CancelWait, seconds: float) -> None:
    """Wait, unless the turn is canceled meanwhile. Raises: CanceledError."""
    cancel.check()
    if cancel.wait(seconds):
        cancel.check()
        raise CanceledError

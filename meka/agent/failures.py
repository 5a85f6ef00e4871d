"""From a provider's failure to the problem a client reads."""

from typing import Any

from meka.agent.providers.base import Cause, ProviderError
from meka.base.errors import (
    ContextOverflowError,
    MekaError,
    ProviderFailedError,
    ProviderUnavailableError,
    RequestTooLargeError,
)
from meka.base.text import cut_utf8, scrub

RELAY_BYTES = 4096
_CUT_MARK = "... [cut]"
_RETRY_AFTER_SECONDS = 3600
_TOO_MANY_REQUESTS = 429

_KINDS: dict[Cause, type[MekaError]] = {
    Cause.TRANSIENT: ProviderUnavailableError,
    Cause.OVERFLOW: ContextOverflowError,
    Cause.TOO_LARGE: RequestTooLargeError,
}


def failure_of(error: ProviderError, relay: bool) -> MekaError:
    """The failure as a client may see it; the provider's own text only where `relay` is on."""
    kind = _KINDS.get(error.cause, ProviderFailedError)
    if error.status == _TOO_MANY_REQUESTS:
        kind = ProviderUnavailableError
    members: dict[str, Any] = {}
    if relay and error.upstream and kind is not RequestTooLargeError:
        members["provider_response"] = cut_utf8(scrub(error.upstream), RELAY_BYTES, _CUT_MARK)
    if kind is ProviderUnavailableError and error.retry_after is not None:
        members["retry_after"] = min(error.retry_after, _RETRY_AFTER_SECONDS)
    failure = kind(str(error), **members)
    failure.back_in_seconds = error.retry_after
    failure.may_pass = error.cause in (Cause.TRANSIENT, Cause.QUOTA)
    return failure

"""Our own sentences for the ways in which a provider fails a request."""

from collections.abc import Mapping

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


def failure(
    cause: Cause,
    upstream: str | None = None,
    *,
    sentence: str | None = None,
    retry_after: int | None = None,
    status: int | None = None,
) -> ProviderError:
    """The error of one failed request, in our own words unless `sentence` says it better."""
    return ProviderError(
        cause, sentence or SENTENCES[cause], upstream=upstream, retry_after=retry_after, status=status
    )

"""A subscription: the plain protocol under a bearer token that expires; a refused one is refreshed once."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from meka.agent.providers.base import ModelRequest, ProviderError, ProviderEvent, ProviderSettings
from meka.agent.providers.wire import WireProvider

AccessToken = Callable[[str | None], str]
"""Gives a token that is good now, another one than the one named as refused. Raises: ProviderError."""

_UNAUTHORIZED = 401


class SubscriptionProvider:
    """One profile's way to a model on a subscription account."""

    sends_tools = True

    def __init__(
        self,
        settings: ProviderSettings,
        make_driver: Callable[[ProviderSettings], WireProvider],
        access_token: AccessToken,
    ) -> None:
        self._settings = settings
        self._make_driver = make_driver
        self._access_token = access_token
        self._token = ""
        self._driver = make_driver(settings)
        self.backend = settings.backend
        self.sends_images = self._driver.sends_images
        self.sends_result_images = self._driver.sends_result_images
        self.expands_references = self._driver.expands_references

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """One attempt; a 401 is one refresh and one resend within it. Raises: ProviderError."""
        token = self._access_token(None)
        try:
            yield from self._driver_for(token).stream(request)
        except ProviderError as error:
            if error.status != _UNAUTHORIZED:
                raise
        else:
            return
        yield from self._driver_for(self._access_token(token)).stream(request)

    def close(self) -> None:
        """Close the connections that wait for another request."""
        self._driver.close()

    def _driver_for(self, token: str) -> WireProvider:
        if token != self._token:
            self._driver.close()
            self._driver = self._make_driver(replace(self._settings, api_key=token))
            self._token = token
        return self._driver

"""The backend `local`: Chat Completions to a model server of our own, which the first request starts."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from meka.agent.providers.base import ModelRequest, ProviderEvent, ProviderSettings
from meka.agent.providers.chat_completions import ChatCompletionsWire
from meka.agent.providers.wire import WireProvider
from meka.base.ids import Ids

Endpoint = Callable[[], tuple[str, str]]
"""Gives the server's base URL and key, starting it where it does not run. Raises: ProviderError."""


class LocalProvider:
    """A small model beside us; it calls no tool, so it is told of none."""

    sends_tools = False
    sends_images = False
    sends_result_images = False
    expands_references = False

    def __init__(self, settings: ProviderSettings, endpoint: Endpoint, ids: Ids) -> None:
        self.backend = settings.backend
        self._settings = settings
        self._endpoint = endpoint
        self._ids = ids
        self._address: tuple[str, str] | None = None
        self._driver: WireProvider | None = None

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """One attempt. Raises: ProviderError."""
        return self._current_driver().stream(replace(request, tools=(), deferred_tools=()))

    def close(self) -> None:
        """Close the connections that wait for another request."""
        if self._driver is not None:
            self._driver.close()

    def _current_driver(self) -> WireProvider:
        """A driver for where the server is now: one that was started again has another address and key."""
        address = self._endpoint()
        if self._driver is None or address != self._address:
            self.close()
            base_url, key = address
            settings = replace(self._settings, api_key=key, base_url=base_url)
            wire = ChatCompletionsWire(settings, self._ids)
            self._driver = WireProvider(settings, wire, base_url.rstrip("/"), sends_tools=False)
            self._address = address
        return self._driver

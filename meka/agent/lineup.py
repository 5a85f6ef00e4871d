"""Who may serve a turn: its profile's own provider, then each fallback once the one before failed.

A fallback takes over for the rest of the turn, what it compacts included; the next turn begins with the
session's own profile again. The chain is the profile's own list: a fallback's fallbacks are not asked.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from meka.agent.blocks import Image, Message, ToolResult
from meka.agent.prompt import SHORT_PROMPT
from meka.agent.providers.base import Accepted, Cause, ModelRequest, Provider, ProviderError, ProviderEvent

_PASSES_ON = frozenset({Cause.TRANSIENT, Cause.QUOTA, Cause.CREDENTIAL})


@dataclass(frozen=True, slots=True)
class StandIn:
    """A fallback profile that can run."""

    profile: str
    vision: bool
    provider: Provider


class Lineup:
    """A provider that becomes the next of the chain when it is told that the one before failed.

    `stand_ins` is asked only when one is needed; `note_serving` is told the name of a fallback that answers.
    """

    def __init__(
        self,
        own: Provider,
        stand_ins: Iterator[StandIn],
        note_serving: Callable[[str], None],
    ) -> None:
        self._profile: str | None = None
        self._stand_ins = stand_ins
        self._note_serving = note_serving
        self.sends_tools = own.sends_tools
        self._put(own)

    def _put(self, provider: Provider) -> None:
        self._serving = provider
        self.backend = provider.backend
        self.sends_images = provider.sends_images
        self.sends_result_images = provider.sends_result_images
        self.expands_references = provider.expands_references

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """One attempt by whoever serves now. Raises: ProviderError."""
        if request.tools and not self._serving.sends_tools:
            request = replace(request, tools=(), deferred_tools=(), system=SHORT_PROMPT)
        for event in self._serving.stream(request):
            if self._profile is not None and isinstance(event, Accepted):
                self._note_serving(self._profile)
            yield event

    def fall_back(self, error: ProviderError, request: ModelRequest) -> str | None:
        """Let the next one serve that can; its profile, or None when there is none for this failure."""
        if error.cause not in _PASSES_ON:
            return None
        shows_images = any(map(_shows_image, request.messages))
        for stand_in in self._stand_ins:
            if stand_in.vision or not shows_images:
                self._put(stand_in.provider)
                self._profile = stand_in.profile
                return stand_in.profile
        return None


def _shows_image(message: Message) -> bool:
    return any(
        isinstance(block, Image)
        or (isinstance(block, ToolResult) and any(isinstance(part, Image) for part in block.content))
        for block in message.content
    )

"""A streamed reply turned into the events of a whole one."""

from collections.abc import Iterable, Iterator

from meka.agent.providers.base import ProviderEvent, TextDelta, ThinkingDelta, ToolStart


def fold(events: Iterable[ProviderEvent]) -> Iterator[ProviderEvent]:
    """`events` read to their end, then given at once: neighbouring deltas joined, no call being composed.

    Nothing is given when reading them fails.
    """
    whole: list[ProviderEvent] = []
    pieces: list[str] = []
    kind: type[TextDelta] | type[ThinkingDelta] = TextDelta
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            if type(event) is not kind:
                _close(whole, kind, pieces)
                kind = type(event)
            pieces.append(event.text)
        elif not isinstance(event, ToolStart):
            _close(whole, kind, pieces)
            whole.append(event)
    _close(whole, kind, pieces)
    yield from whole


def _close(
    whole: list[ProviderEvent], kind: type[TextDelta] | type[ThinkingDelta], pieces: list[str]
) -> None:
    text = "".join(pieces)
    pieces.clear()
    if text:
        whole.append(kind(text))

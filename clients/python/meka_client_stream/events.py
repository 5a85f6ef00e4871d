"""Events of a feed, by name: plain data at once, the generated model of their payload when asked for."""

import json
from dataclasses import dataclass
from typing import Any

from meka_client.feed_events import MODELS, TERMINAL

from .sse import Frame

GAP = "feed.gap"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `id` is what to resume after, None for one that is not replayed."""

    name: str
    data: dict[str, Any]
    id: str | None = None

    @property
    def turn_id(self) -> str | None:
        """The turn it is of."""
        return self.data.get("turn_id")

    @property
    def is_terminal(self) -> bool:
        """Whether it is the last of its turn."""
        return self.name in TERMINAL

    @property
    def is_gap(self) -> bool:
        """Whether events before it are lost to this reader: `GET /messages` has what they came to."""
        return self.name == GAP

    def typed(self) -> Any:
        """The payload as `meka_client.models` has it. Raises: KeyError for a name newer than this client."""
        return MODELS[self.name].from_dict(self.data)


def event_of(frame: Frame) -> Event:
    """A frame's event. Raises: ValueError or TypeError when its data is no JSON object."""
    data = json.loads(frame.data)
    if not isinstance(data, dict):
        raise TypeError(f"the data of {frame.name} is no object")
    return Event(frame.name, data, frame.id)

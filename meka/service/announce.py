"""What changes a session's record, told to the server feed and to the session's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from meka.schema.events import EVENTS
from meka.service.fates import Fate
from meka.service.feed import Feed
from meka.service.registry import Registry

_SERVER = "server"


class Announcer:
    """Publishes beside turns. Turn events reach the server feed through `watch`."""

    def __init__(self, registry: Registry, server_feed: Feed) -> None:
        self._registry = registry
        self._server_feed = server_feed
        registry.on_adopt.append(lambda runtime: runtime.feed.observers.append(self._forward))

    def _forward(self, name: str, payload: Mapping[str, Any]) -> None:
        """Pass on what a session's feed says that changes its record."""
        kind = EVENTS[name]
        if _SERVER in kind.feeds and not name.startswith("session."):
            self._server_feed.publish(name, payload, numbered=kind.numbered)

    def created(self, record: Mapping[str, Any]) -> None:
        """A session came to be."""
        self._server_feed.publish("session.created", {**record, "session_id": record["id"]})

    def updated(self, record: Mapping[str, Any]) -> None:
        """A session's record changed other than by a turn."""
        payload = {**record, "session_id": record["id"]}
        self._server_feed.publish("session.updated", payload)
        runtime = self._registry.get(record["id"])
        if runtime is not None:
            active = runtime.active
            runtime.emit("session.updated", record, active.turn.id if active else None)

    def deleted(self, session_ids: Sequence[str]) -> None:
        """Sessions are gone, sub-agents before their parents."""
        for session_id in session_ids:
            self._server_feed.publish("session.deleted", {"id": session_id, "session_id": session_id})

    def item_fate(self, session_id: str, fate: Fate) -> None:
        """What became of an inbox item, to whoever reads the session's feed."""
        runtime = self._registry.get(session_id)
        if runtime is not None:
            active = runtime.active
            runtime.emit(fate.event, fate.payload, active.turn.id if active else None)

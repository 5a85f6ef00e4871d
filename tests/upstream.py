"""Servers whose account is a provider on the loopback, rounds that wait to be let go, a reader of feeds."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import requests

from meka.base.clock import SystemClock
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database
from tests.loopback_provider import LoopbackProvider, Received
from tests.serving import CONFIG, Client, Event, Server, read_events

WAIT_SECONDS = 20.0


def upstream_server(root: Path, upstream: LoopbackProvider, **options: Any) -> Server:
    """A server whose one account is `upstream`, its credential stored; not started yet."""
    text = CONFIG.format(serve=options.pop("serve", ""), more=options.pop("more", ""))
    text = text.replace(
        'backend = "openai-chat-completions"',
        f'backend = "openai-chat-completions"\nbase_url = "{upstream.base_url}"',
    )
    text = options.pop("head", "") + text
    with Database.open(root / "data" / "meka.db", clock=SystemClock()) as database:
        database.write(lambda tx: credentials.put(tx, "mock", CredentialKind.API_KEY, {"api_key": "k"}))
    environ = {"MEKA_MOCK_PROVIDER": "", **options.pop("environ", {})}
    return Server(root, config=text, environ=environ, **options)


class Gate:
    """A round that tells when it was asked for, and answers when it is let go."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._events = events
        self.asked = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _received: Received) -> Sequence[Mapping[str, Any]]:
        self.asked.set()
        assert self.opened.wait(WAIT_SECONDS)
        return self._events

    def wait(self) -> None:
        """Wait until the provider was asked."""
        assert self.asked.wait(WAIT_SECONDS)


class Feed:
    """A session's feed, read by a thread; `events` holds what came."""

    def __init__(self, client: Client, session_id: str, **params: Any) -> None:
        self._response = client.call(
            "GET", f"/v1/sessions/{session_id}/stream", params=params, stream=True, timeout=(10, 90)
        )
        assert self._response.status_code == 200, self._response.text
        self.events: list[Event] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        raw = self._response.raw
        if raw is not None and raw._fp is not None and raw._fp.fp is not None:
            raw._fp.fp.raw._sock.shutdown(2)
        self._thread.join(5)
        self._response.close()

    def _read(self) -> None:
        try:
            for event in read_events(self._response):
                with self._changed:
                    self.events.append(event)
                    self._changed.notify_all()
        except (requests.RequestException, OSError, ValueError, AttributeError):
            return

    def wait_for(
        self, name: str, where: Callable[[Mapping[str, Any]], bool] = lambda _data: True, *, count: int = 1
    ) -> Event:
        """The `count`-th event of that name for which `where` holds."""

        def found() -> list[Event]:
            return [event for event in self.events if event.name == name and where(event.data)]

        with self._changed:
            assert self._changed.wait_for(lambda: len(found()) >= count, WAIT_SECONDS), (
                f"no {name} came: {[event.name for event in self.events]}"
            )
            return found()[count - 1]

    def names(self) -> list[str]:
        """The events' names, in order."""
        with self._changed:
            return [event.name for event in self.events]

    def payloads(self, name: str) -> list[Mapping[str, Any]]:
        """The payloads of one name."""
        with self._changed:
            return [event.data for event in self.events if event.name == name]


def post(client: Client, session_id: str, message: str, class_: str = "steer", **more: Any) -> dict[str, Any]:
    """An inbox item's 202; `key` is its Idempotency-Key."""
    headers = {"Idempotency-Key": more.pop("key")} if "key" in more else {}
    answer = client.call(
        "POST",
        f"/v1/sessions/{session_id}/inbox",
        json={"message": message, "class": class_, **more},
        headers=headers,
    )
    assert answer.status_code == 202, answer.text
    view: dict[str, Any] = answer.json()
    return view


def blocks(message: Mapping[str, Any]) -> list[str]:
    """The types of a message's blocks."""
    return [block["type"] for block in message["content"]]


def sent_text(received: Received) -> list[tuple[str, str]]:
    """What a request to the provider holds: role and text of each message."""
    return [(each["role"], _text(each.get("content"))) for each in received.body["messages"]]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")

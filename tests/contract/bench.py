"""A live server with a provider that tests script as they go, and a client that checks every answer."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests

from meka.base.clock import SystemClock
from meka.config.places import STORE_FILE
from meka.schema.operations import SCOPES
from meka.store import credentials, sessions
from meka.store.credentials import CredentialKind
from meka.store.database import Database
from meka.store.locks import SessionLocks
from tests.contract.checking import EVENT_STREAM, Answered, Contract, the_contract
from tests.loopback_provider import LoopbackProvider
from tests.serving import Client, Event, Server

CONFIG = """
default_profile = "main"

[accounts.upstream]
backend = "anthropic-messages"
base_url = "{upstream}"

[profiles.main]
account = "upstream"
model = "claude-test"

[profiles.blind]
account = "upstream"
model = "claude-test"
vision = false

[profiles.tiny]
account = "upstream"
model = "claude-test"
max_request_bytes = 1024

[profiles.keyless]
account = "absent"
model = "claude-test"

[accounts.absent]
backend = "anthropic-messages"

[permissions]
default = "workspace"
enabled = ["read", "workspace", "unrestricted"]

[serve]
max_body_bytes = 65536
{serve}
"""
_TOKEN = """
[[serve.tokens]]
token = "{token}"
scopes = {scopes}
"""
_WRITES = [scope for scope in SCOPES if scope.endswith(":w")]
TOKENS = {
    "everything": list(SCOPES),
    "writes-only": _WRITES,
    **{f"without-{scope}": [each for each in SCOPES if each != scope] for scope in SCOPES},
}
NOWHERE = "3f2b8c1e-0000-4000-8000-000000000000"
SEEN: set[Answered] = set()
"""What the running test has seen; its fixture empties it."""


class CheckedClient(Client):
    """Holds each answer it gets to the document before it hands it on."""

    def __init__(self, base_url: str, token: str | None = "everything") -> None:
        super().__init__(base_url, token)
        self.contract: Contract = the_contract()

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        answer = super().call(method, path, **options)
        if method != "HEAD":
            streams = answer.headers.get("Content-Type") == EVENT_STREAM
            # The events of a stream are held to the document one by one, by `events`.
            self._note(answer, b"events" if streams else answer.content)
        return answer

    def _note(self, answer: requests.Response, body: bytes | None) -> None:
        request = answer.request
        seen = self.contract.check(
            str(request.method), str(request.url), answer.status_code, answer.headers.items(), body
        )
        if seen is not None:
            SEEN.add(seen)

    def events(self, session_id: str, message: str = "go", **body: Any) -> list[Event]:
        """A streamed turn's events, checked: the last is the terminal, and the stream ends with it."""
        events = list(self.stream(session_id, message, **body))
        self.contract.check_events(events, "turn")
        assert [self.contract.is_terminal(event.name) for event in events] == [False] * (len(events) - 1) + [
            True
        ]
        return events

    def open_stream(self, session_id: str, message: str = "go", **body: Any) -> requests.Response:
        """A streamed turn whose events are read by the caller."""
        return self.call(
            "POST",
            f"/v1/sessions/{session_id}/turn",
            json={"message": message, "stream": True, **body},
            stream=True,
        )


def slug_of(answer: requests.Response) -> str:
    """The kind of problem an answer is."""
    return str(answer.json()["type"].rpartition("/")[2])


@dataclass
class Bench:
    """A server, its provider, and its store as another process of the installation has it."""

    server: Server
    upstream: LoopbackProvider
    store: Database
    root: Path
    clients: dict[str, CheckedClient] = field(default_factory=dict)

    @property
    def client(self) -> CheckedClient:
        """A client that may do everything."""
        return self.client_with("everything")

    def client_with(self, token: str | None) -> CheckedClient:
        """A client with one of `TOKENS`, or another token, or none."""
        return self.clients.setdefault(str(token), CheckedClient(self.server.base_url, token))

    @property
    def locks(self) -> SessionLocks:
        """The locks of sessions, as another process takes them."""
        return SessionLocks(self.root / "data" / "locks")

    def stored_session(self, **changes: Any) -> str:
        """A session in the store that the server has not loaded."""
        session_id = str(uuid4())
        row = {
            "working_directory": str(self.root / "work"),
            "permission": "workspace",
            "approvals": False,
            "profile": "main",
            **changes,
        }
        self.store.write(lambda tx: sessions.create(tx, session_id, **row))
        return session_id


@contextmanager
def running(root: Path, serve: str = "", arguments: Sequence[str] = ()) -> Iterator[Bench]:
    """A bench, ended with the block."""
    for name in ("config", "data", "work"):
        (root / name).mkdir()
    store = Database.open(root / "data" / STORE_FILE, clock=SystemClock())
    secret = {"api_key": "sk-test"}
    store.write(lambda tx: credentials.put(tx, "upstream", CredentialKind.API_KEY, secret))
    tokens = "".join(_TOKEN.format(token=name, scopes=json.dumps(scopes)) for name, scopes in TOKENS.items())
    try:
        with LoopbackProvider(default=[{"type": "text", "text": "ok"}]) as upstream:
            config = CONFIG.format(upstream=upstream.root, serve=serve) + tokens
            with Server(
                root, config=config, environ={"MEKA_MOCK_PROVIDER": ""}, arguments=arguments
            ) as server:
                bench = Bench(server, upstream, store, root)
                yield bench
                for client in bench.clients.values():
                    client.http.close()
    finally:
        store.close()

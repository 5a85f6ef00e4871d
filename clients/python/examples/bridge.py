"""A bridge: lines of standard input go to a session's inbox; their delivery and the replies are printed.

    MEKA_TOKEN=... python bridge.py http://127.0.0.1:8080 [SESSION_ID]

Without a session id a new session is made. A message is sent with an Idempotency-Key, so that it can be sent
again for as long as its 202 did not arrive; the feed tells when the model read it. At the end of its input
the bridge waits for what is still to be answered.
"""

import os
import sys
import threading
import time
import uuid

import httpx
from meka_client import AuthenticatedClient
from meka_client.api.inbox import post_inbox
from meka_client.api.sessions import create_session
from meka_client.models import CreateSessionRequest, InboxClass, InboxRequest, InboxResponse, SessionResponse
from meka_client_stream import Event, StreamError, follow_session

_ATTEMPTS = 8


class Outstanding:
    """The messages that nothing has become of yet. The feed may speak of one before its 202 is here."""

    def __init__(self) -> None:
        self._sent: set[str] = set()
        self._settled: set[str] = set()
        self._read_in: dict[str, str] = {}
        self._ended = False
        self._changed = threading.Condition()

    def add(self, item_id: str) -> None:
        """A message was handed over."""
        with self._changed:
            self._sent.add(item_id)

    def note(self, event: Event) -> None:
        """Take from the feed what has become of messages: given up on, or read in a turn that has ended."""
        with self._changed:
            if event.name == "inbox.delivered":
                self._read_in |= dict.fromkeys(event.data["item_ids"], event.data["turn_id"])
            elif event.name in ("inbox.failed", "inbox.withdrawn"):
                self._settled.add(event.data["item_id"])
            elif event.is_terminal:
                self._settled |= {item for item, turn in self._read_in.items() if turn == event.turn_id}
            elif event.is_gap:  # what became of these may have been said in the hole
                self._settled |= self._sent
            self._changed.notify_all()

    def end(self) -> None:
        """The feed is over: nothing more will be known."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait until something has become of every message; False when that will not be known."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._sent <= self._settled)
            return self._sent <= self._settled


def main(arguments: list[str]) -> int:
    """Run until the end of standard input."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    client = AuthenticatedClient(base_url=arguments[0], token=os.environ["MEKA_TOKEN"])
    session_id = uuid.UUID(arguments[1]) if len(arguments) > 1 else open_session(client)
    tell(f"session {session_id}")
    feed = client.get_httpx_client()
    outstanding = Outstanding()
    threading.Thread(target=follow, args=(feed, session_id, outstanding), daemon=True).start()
    for line in sys.stdin:
        if line.strip():
            item_id = send(client, session_id, line.strip())
            outstanding.add(str(item_id))
            tell(f"sent {item_id}")
    return 0 if outstanding.wait() else 1


def tell(text: str) -> None:
    """Print a line whole: two threads print here."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def open_session(client: AuthenticatedClient) -> uuid.UUID:
    """A new session's id."""
    answer = create_session.sync_detailed(client=client, body=CreateSessionRequest())
    if not isinstance(answer.parsed, SessionResponse):
        raise SystemExit(f"no session: {answer.status_code} {answer.content.decode()}")
    return answer.parsed.id


def send(client: AuthenticatedClient, session_id: uuid.UUID, text: str) -> uuid.UUID:
    """Hand a message over, once however often it is sent; its item's id."""
    key = str(uuid.uuid4())
    body = InboxRequest(message=text, class_=InboxClass.STEER, source="bridge")
    for attempt in range(_ATTEMPTS):
        try:
            answer = post_inbox.sync_detailed(session_id, client=client, body=body, idempotency_key=key)
        except (httpx.TransportError, ValueError):  # no answer, or one of a proxy
            time.sleep(min(2**attempt, 30))
            continue
        if isinstance(answer.parsed, InboxResponse):
            return answer.parsed.item_id
        if answer.status_code < 500:
            raise SystemExit(f"refused: {answer.status_code} {answer.content.decode()}")
        time.sleep(min(2**attempt, 30))
    raise SystemExit("the server does not answer")


def follow(client: httpx.Client, session_id: uuid.UUID, outstanding: Outstanding) -> None:
    """Print what the feed says, until the server refuses."""
    replies: dict[str, str] = {}
    try:
        for event in follow_session(client, str(session_id)):
            show(event, replies)
            outstanding.note(event)
    except StreamError as error:
        tell(f"the feed ended: {error}")
    finally:
        outstanding.end()


def show(event: Event, replies: dict[str, str]) -> None:
    """Print one event; `replies` gathers each turn's text until its terminal."""
    turn_id = event.turn_id or ""
    if event.name == "assistant_text.delta":
        replies[turn_id] = replies.get(turn_id, "") + event.data["text"]
    elif event.name == "inbox.delivered":
        tell(f"delivered {' '.join(event.data['item_ids'])}")
    elif event.name == "inbox.failed":
        tell(f"failed {event.data['item_id']}: {event.data['reason']}")
    elif event.is_terminal:
        tell(f"{event.name}: {replies.pop(turn_id, '')}")
    elif event.is_gap:
        tell(f"missed {event.data.get('dropped', 'some')} events; GET /messages has what they came to")
        replies.clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the three wire protocols have in common: the faces of their parts, and the driver that joins them."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from meka.agent.providers.base import (
    Accepted,
    Cause,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    ProviderSettings,
)
from meka.agent.providers.calls import ToolNames
from meka.agent.providers.decoder import Payload, read_payload
from meka.agent.providers.failures import failure, unreadable
from meka.agent.providers.fold import fold
from meka.agent.providers.http import HttpClient, Post, Reply
from meka.base.text import scrub_tree


class ReplyDecoder(Protocol):
    """Turns the payloads of one reply into events; holds what was begun and is not whole. No I/O."""

    stopped: bool
    """The model said why it stopped: whatever happens to the stream now, the reply is good."""

    finished: bool
    """Nothing more is worth reading."""

    def feed(self, payload: Payload) -> Iterator[ProviderEvent]:
        """The events of one payload of a stream. Raises: ProviderError for an error it reports."""

    def end(self) -> Iterator[ProviderEvent]:
        """The events that the end of the stream brings, MessageEnd last. Raises: ProviderError if cut."""

    def whole(self, body: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        """The events of a reply that came at once. Raises: ProviderError."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request in a protocol's words, with what maps the reply's tool names back."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    names: ToolNames


class Wire(Protocol):
    """One protocol."""

    path: str
    """Appended to the base URL."""

    default_max_request_bytes: int | None
    always_streams: bool
    sends_result_images: bool
    expands_references: bool

    def build(self, request: ModelRequest) -> Outgoing:
        """`request` as it is sent."""

    def decoder(self, names: ToolNames) -> ReplyDecoder:
        """A decoder for one reply."""


class WireProvider:
    """A model behind one of the wire protocols."""

    def __init__(
        self,
        settings: ProviderSettings,
        wire: Wire,
        base_url: str,
        *,
        sends_tools: bool = True,
    ) -> None:
        self.backend = settings.backend
        self.sends_tools = sends_tools
        self.sends_images = settings.vision
        self.sends_result_images = wire.sends_result_images
        self.expands_references = wire.expands_references
        self._wire = wire
        self._url = base_url + wire.path
        self._max_bytes = settings.max_request_bytes or wire.default_max_request_bytes
        self._http = HttpClient(
            connect_seconds=settings.connect_seconds, silence_seconds=settings.silence_seconds
        )

    def stream(self, request: ModelRequest) -> Iterator[ProviderEvent]:
        """One attempt. Raises: ProviderError."""
        outgoing = self._wire.build(request)
        streamed = request.stream or self._wire.always_streams
        body = io.BytesIO(encode_body(outgoing.body, self._max_bytes))
        post = Post(self._url, outgoing.headers, body)
        decoder = self._wire.decoder(outgoing.names)
        events = exchange(self._http, post, decoder, streamed=streamed)
        return events if request.stream or not streamed else fold(events)

    def close(self) -> None:
        """Close the connections that wait for another request."""
        self._http.close()


def exchange(
    http: HttpClient, post: Post, decoder: ReplyDecoder, *, streamed: bool
) -> Iterator[ProviderEvent]:
    """Send `post` and decode what answers. Raises: ProviderError."""
    with http.post(post, stream=streamed) as reply:
        if streamed and reply.media_type == "text/html":
            raise unreadable(reply.body().decode("utf-8", "replace"))
        if streamed and reply.media_type != "application/json":
            yield from _read_stream(reply, decoder)
        else:
            yield from _read_whole(reply, decoder)


def _read_stream(reply: Reply, decoder: ReplyDecoder) -> Iterator[ProviderEvent]:
    accepted = False
    try:
        for frame in reply.frames():
            payload = read_payload(frame)
            if payload is None:
                continue
            events = list(decoder.feed(payload))  # an error is raised before the answer counts as begun
            if not accepted:
                accepted = True
                yield Accepted()
            yield from events
            if decoder.finished:
                break
    except ProviderError as error:
        if not decoder.stopped or error.upstream is not None:
            raise
    yield from decoder.end()
    reply.drain()


def _read_whole(reply: Reply, decoder: ReplyDecoder) -> Iterator[ProviderEvent]:
    raw = reply.body()
    try:
        body = scrub_tree(json.loads(raw))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise unreadable(raw.decode("utf-8", "replace"))
    events = list(decoder.whole(body))
    yield Accepted()
    yield from events


def encode_body(body: Mapping[str, Any], max_bytes: int | None) -> bytes:
    """`body` as JSON. Raises: ProviderError (too_large) over `max_bytes`."""
    try:
        encoded = _dump(body)
    except UnicodeEncodeError:  # a lone surrogate
        encoded = _dump(scrub_tree(body))
    if max_bytes is not None and len(encoded) > max_bytes:
        raise failure(Cause.TOO_LARGE, oversize=(len(encoded), max_bytes))
    return encoded


def _dump(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def bearer(settings: ProviderSettings) -> dict[str, str]:
    """The headers that hold the key of an OpenAI-like endpoint, if it takes one."""
    return {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}


def count(value: object) -> int:
    """A token count as an upstream states it; anything that is none is 0."""
    return value if isinstance(value, int) and value > 0 else 0


def text_of(value: object) -> str:
    """A text as an upstream states it; anything that is none is ""."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Mapping[str, Any]:
    """An object as an upstream states it; anything that is none is empty."""
    return value if isinstance(value, dict) else {}

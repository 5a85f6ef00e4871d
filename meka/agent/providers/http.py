"""One provider's HTTP: POST JSON, then a stream of events or a whole reply, with every bound and every clock.

Killing the greenlet that reads closes the connection, since each reply is read inside its `with` block.
"""

import http.client
import io
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Self
from urllib.parse import urlsplit

import gevent
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection

from meka.agent.providers.base import Cause, ProviderError
from meka.agent.providers.decoder import MAX_EVENT_BYTES, EventTooLargeError, Frame, SseDecoder
from meka.agent.providers.failures import OVERSIZED_REPLY, failure, status_failure

MAX_REPLY_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 1024 * 1024
READ_BYTES = 65536
POOL_SIZE = 128
ERROR_BODY_SECONDS = 10.0
DRAIN_SECONDS = 0.05

_TRANSPORT_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
)
_TIMEOUTS = (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Post:
    """One request as it goes out, once; its body is let go of as soon as it was answered.

    The body is a file so that it is sent block by block: the connect timeout bounds one of them, not all.
    """

    url: str
    headers: Mapping[str, str]
    body: io.BytesIO


class Reply:
    """An answer with a success status; read it once, inside the `with` block that gave it."""

    def __init__(self, response: requests.Response, silence_seconds: float) -> None:
        self._response = response
        self._silence_seconds = silence_seconds
        self._pieces = _pieces_of(response.raw, is_encoded="Content-Encoding" in response.headers)

    @property
    def media_type(self) -> str:
        """The answer's media type in lower case, without parameters; "" where it states none."""
        stated: str = self._response.headers.get("Content-Type", "")
        return stated.partition(";")[0].strip().lower()

    def frames(self) -> Iterator[Frame]:
        """The events of the stream as they arrive. Raises: ProviderError."""
        decoder = SseDecoder(MAX_EVENT_BYTES)
        with _translated(self._response.url), _Silence(self._silence_seconds) as silence:
            while chunk := silence.bound(self._read_some):
                for frame in decoder.feed(chunk):
                    yield frame
                    silence.end()
            yield from decoder.finish()

    def drain(self) -> None:
        """Read what little may follow the last event, so that the connection can serve another request."""
        with gevent.Timeout(DRAIN_SECONDS, False), suppress(ValueError, *_TRANSPORT_ERRORS):
            self._read_some()

    def body(self) -> bytes:
        """The whole reply. Raises: ProviderError."""
        declared = self._response.headers.get("Content-Length", "")
        if declared.isdecimal() and int(declared) > MAX_REPLY_BYTES:
            raise _oversized()
        whole = bytearray()
        with _translated(self._response.url):
            while chunk := self._response.raw.read1(READ_BYTES, decode_content=True):
                whole += chunk
                if len(whole) > MAX_REPLY_BYTES:
                    raise _oversized()
        return bytes(whole)

    def _read_some(self) -> bytes:
        """The bytes that are there, or b"" at the end."""
        return next(self._pieces, b"")


def _pieces_of(raw: urllib3.HTTPResponse, *, is_encoded: bool) -> Iterator[bytes]:
    """A body as it arrives.

    Where it comes in chunks, which a streaming endpoint makes one an event, urllib3 hands them on at half of
    what `read1` costs. What is not encoded is not passed through its decoding buffer.
    """
    if raw.chunked:
        return raw.read_chunked(READ_BYTES, decode_content=is_encoded)
    return iter(lambda: raw.read1(READ_BYTES, decode_content=is_encoded), b"")


class _Silence:
    """Ends a read once no event came for `seconds`; a comment may wake the read but buys no time.

    One timer a stream, which looks at the clock when it fires: a timer a read costs more than the read.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = 0.0
        self._reader: Any = None
        self._timer: Any = None

    def __enter__(self) -> Self:
        self.end()
        self._wait(self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.close()

    def end(self) -> None:
        """An event came."""
        self._deadline = time.monotonic() + self._seconds

    def bound(self, read: Callable[[], bytes]) -> bytes:
        """What `read` gives, in time. Raises: ProviderError."""
        if time.monotonic() >= self._deadline:
            raise _silent(self._seconds)
        self._reader = gevent.getcurrent()
        try:
            return read()
        finally:
            self._reader = None

    def _wait(self, seconds: float) -> None:
        self._timer = gevent.get_hub().loop.timer(seconds)
        self._timer.start(self._look)

    def _look(self) -> None:
        """In the hub."""
        self._timer.close()
        remaining = self._deadline - time.monotonic()
        if remaining <= 0 and self._reader is not None:
            self._reader.throw(_silent(self._seconds))
        else:
            self._wait(remaining if remaining > 0 else self._seconds)


class HttpClient:
    """The connections of one provider."""

    def __init__(self, *, connect_seconds: float, silence_seconds: float) -> None:
        self._connect_seconds = connect_seconds
        self._silence_seconds = silence_seconds
        self._session = _Session()
        self._session.trust_env = False
        self._session.headers.clear()
        self._session.headers.update({"Accept-Encoding": "identity", "User-Agent": "meka"})
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, _KeepaliveAdapter(pool_connections=4, pool_maxsize=POOL_SIZE))

    @contextmanager
    def post(self, post: Post, *, stream: bool) -> Iterator[Reply]:
        """Send `post` and give its reply; a whole reply (`stream` False) is waited for without a clock.

        Raises: ProviderError.
        """
        silence = self._silence_seconds if stream else None
        with self._send(post, silence) as response:
            post.body.close()  # a stream lives long, and bodies are large
            if not 200 <= response.status_code < 300:
                raise _refusal(response)
            yield Reply(response, self._silence_seconds)

    def close(self) -> None:
        """Close the connections that wait for another request."""
        self._session.close()

    def _send(self, post: Post, silence: float | None) -> requests.Response:
        with _translated(post.url):
            return self._session.post(
                post.url,
                data=post.body,
                headers=post.headers,
                timeout=(self._connect_seconds, silence),
                allow_redirects=False,
                stream=True,
            )


class _Session(requests.Session):
    """Sees no redirects: without following one, requests would still read its body to the end."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class _KeepaliveAdapter(HTTPAdapter):
    """Finds a peer that vanished within two minutes, also while nothing is read or written."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        options["socket_options"] = [*HTTPConnection.default_socket_options, *_keepalive_options()]
        super().init_poolmanager(*args, **options)


def _keepalive_options() -> list[tuple[int, int, int]]:
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    wanted = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6), ("TCP_USER_TIMEOUT", 90_000))
    for name, value in wanted:
        option = getattr(socket, name, None)  # not every platform has them
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


def _refusal(response: requests.Response) -> ProviderError:
    """The error of an answer that is no success, with as much of its body as comes at once."""
    body = bytearray()
    with gevent.Timeout(ERROR_BODY_SECONDS, False):
        try:
            while len(body) < MAX_ERROR_BYTES and (
                chunk := response.raw.read1(READ_BYTES, decode_content=True)
            ):
                body += chunk
        except _TRANSPORT_ERRORS:
            pass  # the status says enough
    return status_failure(response.status_code, body.decode("utf-8", "replace"), response.headers)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Turns what goes wrong between us and the provider into a ProviderError; its text goes nowhere.

    A ValueError is a request that could not be built (a header or an address that HTTP cannot carry): its
    text may hold the key.
    """
    try:
        yield
    except EventTooLargeError:
        raise _oversized() from None
    except ValueError as error:
        _log.warning("a request to a provider could not be built: %s", type(error).__name__)
        raise failure(Cause.OTHER, sentence="the request to the model provider could not be built") from None
    except _TRANSPORT_ERRORS as error:
        host = urlsplit(url).hostname
        _log.warning("the connection to the provider at %s failed: %s", host, _root_cause(error))
        raise _transport_failure(error) from None


def _transport_failure(error: BaseException) -> ProviderError:
    if isinstance(error, requests.ConnectTimeout | urllib3.exceptions.ConnectTimeoutError):
        return failure(Cause.TRANSIENT, sentence="the model provider could not be reached in time")
    if isinstance(error, _TIMEOUTS):
        return failure(Cause.TRANSIENT, sentence="the model provider fell silent")
    return failure(Cause.TRANSIENT, sentence="the connection to the model provider failed")


def _root_cause(error: BaseException) -> str:
    """The innermost system error's words, or the kind of the error: neither holds a URL."""
    seen: BaseException | None = error
    words = type(error).__name__
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            words = seen.strerror
        seen = seen.__cause__ or seen.__context__
    return words


def _silent(seconds: float) -> ProviderError:
    return failure(Cause.TRANSIENT, sentence=f"the model provider was silent for {seconds:g} seconds")


def _oversized() -> ProviderError:
    return failure(Cause.OTHER, sentence=OVERSIZED_REPLY)

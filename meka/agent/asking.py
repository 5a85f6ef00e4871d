"""One request to a provider, read in a greenlet of its own so that a cancel can end it at once."""

from collections.abc import Callable

import gevent

from meka.agent.cancel import Cancel
from meka.agent.providers.base import Accepted, ModelRequest, Provider, ProviderError
from meka.agent.providers.retry import Monotonic, stream_with_retries
from meka.agent.reply import Reply

FallBack = Callable[[ProviderError, ModelRequest], str | None]


def stay(_error: ProviderError, _request: ModelRequest) -> None:
    """What a turn without fallback profiles does when its provider failed."""


def spawn_reader(
    reply: Reply,
    request: ModelRequest,
    provider: Provider,
    clock: Monotonic,
    cancel: Cancel,
    on_accepted: Callable[[], None] = lambda: None,
    fall_back: FallBack = stay,
) -> gevent.Greenlet:
    """Read the answer into `reply`. The greenlet's value is its failure: gevent prints what is raised."""

    def read() -> Exception | None:
        try:
            for event in stream_with_retries(
                provider,
                request,
                clock=clock,
                cancel=cancel,
                was_published=lambda: reply.published,
                fall_back=lambda error: fall_back(error, request),
            ):
                reply.take(event)
                reply.backend = provider.backend
                if isinstance(event, Accepted):
                    on_accepted()
        except Exception as error:
            return error
        return None

    reader = gevent.spawn(read)
    reader.name = "provider-reader"
    return reader


def ask_quietly(
    reply: Reply,
    request: ModelRequest,
    provider: Provider,
    clock: Monotonic,
    cancel: Cancel,
    fall_back: FallBack = stay,
) -> None:
    """Read a whole answer. Raises: ProviderError, CanceledError."""
    reader = spawn_reader(reply, request, provider, clock, cancel, fall_back=fall_back)
    try:
        cancel.wait_beside([reader])
        cancel.check()
        raise_failure(reader.value)
    finally:
        reader.kill()


def raise_failure(outcome: object) -> None:
    """Raise what a reader ended with, where that is a failure."""
    if isinstance(outcome, Exception):
        raise outcome

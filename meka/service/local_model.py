"""The embedded model of the backend `local`: a child process of the server, shared by all its sessions.

It is started by the first request that needs it and again when it died, a bounded number of times.
"""

import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path

import gevent
from gevent import Greenlet

from meka.agent.providers.base import Cause, ProviderError
from meka.base.clock import Clock, SystemClock
from meka.service.local_child import Endpoint, LocalChild
from meka.service.local_weights import find_weights

log = logging.getLogger(__name__)

STARTS = 5
STARTS_WINDOW_SECONDS = 60.0
SHUTTING_DOWN = "the server is shutting down"


class LocalModel:
    """Hands out where a packaged model answers, starting its child process when there is none."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        find: Callable[[str], Path] = find_weights,
        start_child: Callable[[str], LocalChild] = LocalChild,
    ) -> None:
        self._clock = clock or SystemClock()
        self._find = find
        self._start_child = start_child
        self._keepers: dict[str, _Keeper] = {}
        self._stopped = False

    def endpoint(self, model: str) -> tuple[str, str]:
        """`model`'s base URL and API key, once it answers; blocks the calling greenlet only.

        Raises: ConfigurationError, for a model that is not packaged or not installed; ProviderError, when its
        process does not start.
        """
        weights = self._find(model)
        if self._stopped:
            raise ProviderError(Cause.TRANSIENT, SHUTTING_DOWN)
        if model not in self._keepers:
            self._keepers[model] = _Keeper(model, weights, self._clock, self._start_child)
        endpoint = self._keepers[model].endpoint()
        return endpoint.base_url, endpoint.api_key

    def stop(self) -> None:
        """End every child, for good. Returns when they are gone."""
        self._stopped = True
        stops = [gevent.spawn(keeper.stop) for keeper in self._keepers.values()]
        gevent.joinall(stops, raise_error=True)


class _Keeper:
    """Keeps one model's child: at most one at a time, at most one being started."""

    def __init__(
        self, model: str, weights: Path, clock: Clock, start_child: Callable[[str], LocalChild]
    ) -> None:
        self._model = model
        self._weights = weights
        self._clock = clock
        self._start_child = start_child
        self._child: LocalChild | None = None
        self._starter: Greenlet | None = None
        self._starts: deque[float] = deque(maxlen=STARTS)

    def endpoint(self) -> Endpoint:
        """Where the living child answers; all who ask while one is being started wait for that one."""
        outcome = self._latest_start().get()
        if isinstance(outcome, Endpoint):
            return outcome
        if isinstance(outcome, ProviderError):
            raise ProviderError(outcome.cause, str(outcome))
        raise ProviderError(Cause.TRANSIENT, SHUTTING_DOWN)

    def stop(self) -> None:
        """End the child, or its start."""
        if self._starter is not None:
            self._starter.kill()
        self._drop_child()

    def _latest_start(self) -> Greenlet:
        """The start that is under way or left a living child; a new one where there is neither."""
        latest = self._starter
        if latest is not None and not self._is_lost(latest):
            return latest
        if latest is self._starter:  # asking whether a process lives lets others run, who may have come first
            self._starter = gevent.spawn(self._start)
            self._starter.name = f"local-model-start:{self._model}"
        return self._starter

    def _is_lost(self, starter: Greenlet) -> bool:
        """Whether the last start is over and left no living child."""
        if not starter.ready():
            return False
        return self._child is None or not self._child.alive or not isinstance(starter.value, Endpoint)

    def _start(self) -> Endpoint | ProviderError:
        """Replace the child, in a greenlet of its own: the one that asked may be killed meanwhile."""
        self._drop_child()
        try:
            self._count_start()
            self._child = self._start_child(self._model)
            endpoint = self._child.await_endpoint(self._weights)
        except OSError as error:
            log.warning("local model cannot start: %s", error, extra={"model": self._model})
            return ProviderError(Cause.TRANSIENT, "the local model did not start; consult server logs")
        except ProviderError as error:
            self._drop_child()
            return error
        log.info("local model started", extra={"model": self._model, "pid": self._child.pid})
        return endpoint

    def _count_start(self) -> None:
        now = self._clock.monotonic()
        if len(self._starts) == STARTS and now - self._starts[0] < STARTS_WINDOW_SECONDS:
            raise ProviderError(
                Cause.TRANSIENT, "the local model's process keeps ending; consult server logs"
            )
        self._starts.append(now)

    def _drop_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop()

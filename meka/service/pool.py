"""Native threads for work that would stop the hub: disk, CPU in libraries that let go of the interpreter."""

from collections.abc import Callable
from typing import Any

from gevent.threadpool import ThreadPool


class Pool:
    """A bounded number of threads; who asks waits in its greenlet for a thread and for the answer."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPool(threads)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`function(*arguments)` in a thread. Raises: what it raised."""
        value, error = self._pool.spawn(_guarded, function, arguments).get()
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """End the threads once they are idle."""
        self._pool.kill()


def _guarded(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, BaseException | None]:
    """The outcome as a value: gevent prints what a pool's function raises."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, error

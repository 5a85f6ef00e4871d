"""Browser clients of other origins: preflights answered ahead of everything, grants on every answer.

The origins come normalized from the configuration. Credentials are never granted: page script sends the
bearer header itself, which needs a grant of its own name.
"""

from collections.abc import Callable, Iterable
from typing import Any

ANY_ORIGIN = "*"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID"
EXPOSED_HEADERS = "ETag, Retry-After, WWW-Authenticate"

Application = Callable[..., Iterable[bytes]]
Fields = list[tuple[str, str]]


class Cors:
    """Wraps an application; without origins it changes nothing."""

    def __init__(self, app: Application, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a preflight, or pass the request on and put the grant on its answer."""
        if not self._origins:
            return self._app(environ, start_response)
        origin = environ.get("HTTP_ORIGIN")
        if _is_preflight(environ):
            return _answer_preflight(self._share(origin), start_response)
        grant = self.grant(origin)

        def start_granted(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            return start_response(status, [*headers, *grant], *rest)

        return self._app(environ, start_granted)

    def grant(self, origin: str | None) -> Fields:
        """The headers with which any answer but a preflight's is shared with `origin`, errors included."""
        shared = self._share(origin)
        if not _is_granted(shared):
            return shared
        return [*shared, ("Access-Control-Expose-Headers", EXPOSED_HEADERS)]

    def _share(self, origin: str | None) -> Fields:
        """Whether `origin` may read an answer; caches keep answers apart where they differ."""
        if not self._origins:
            return []
        if ANY_ORIGIN in self._origins:
            return [("Access-Control-Allow-Origin", ANY_ORIGIN)]
        shared = [("Access-Control-Allow-Origin", origin)] if origin in self._origins and origin else []
        return [*shared, ("Vary", "Origin")]


def _is_preflight(environ: dict[str, Any]) -> bool:
    return (
        environ["REQUEST_METHOD"] == "OPTIONS"
        and "HTTP_ORIGIN" in environ
        and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
    )


def _is_granted(fields: Fields) -> bool:
    return any(name == "Access-Control-Allow-Origin" for name, _ in fields)


def _answer_preflight(grant: Fields, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """204; to an origin that is not allowed too, which reads from it that there is no grant."""
    headers = list(grant)
    if _is_granted(grant):
        headers += [
            ("Access-Control-Allow-Methods", METHODS),
            ("Access-Control-Allow-Headers", REQUEST_HEADERS),
        ]
    start_response("204 No Content", headers)
    return []

"""Browser clients of other origins: preflights answered ahead of everything, grants on every answer.

The origins come normalized from the configuration. Credentials are never granted: page script sends the
bearer header itself, which needs a grant of its own name.
"""

from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.datastructures import Headers

ANY_ORIGIN = "*"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID"
EXPOSED_HEADERS = "ETag, Retry-After, WWW-Authenticate"

Application = Callable[..., Iterable[bytes]]


class Cors:
    """Wraps an application; without origins it changes nothing."""

    def __init__(self, app: Application, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a preflight, or pass the request on and put the grant on its answer."""
        if not self._origins:
            return self._app(environ, start_response)
        grant = self._grant(environ.get("HTTP_ORIGIN"))
        if _is_preflight(environ):
            return _answer_preflight(grant, start_response)

        def start_granted(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            granted = Headers([*headers, *grant])
            if "Access-Control-Allow-Origin" in granted:
                granted["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
            return start_response(status, granted.to_wsgi_list(), *rest)

        return self._app(environ, start_granted)

    def _grant(self, origin: str | None) -> list[tuple[str, str]]:
        """The headers that share an answer with `origin`: caches keep answers apart where they differ."""
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


def _answer_preflight(grant: list[tuple[str, str]], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """204; to an origin that is not allowed too, which reads from it that there is no grant."""
    headers = list(grant)
    if any(name == "Access-Control-Allow-Origin" for name, _ in grant):
        headers += [
            ("Access-Control-Allow-Methods", METHODS),
            ("Access-Control-Allow-Headers", REQUEST_HEADERS),
        ]
    start_response("204 No Content", headers)
    return []

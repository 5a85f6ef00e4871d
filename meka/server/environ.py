"""The WSGI environment of one request (PEP 3333)."""

import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes

from meka.server.body import RequestBody
from meka.server.connection import WatchedConnection
from meka.server.head import RequestHead
from meka.wire.connection import ENVIRON_KEY

Address = tuple[str, int]
_UNPREFIXED = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


def build_environ(
    head: RequestHead, body: RequestBody, connection: WatchedConnection, server: Address, client: Address
) -> dict[str, Any]:
    """What the application gets; a field with `_` in its name is dropped, for it would pass as another."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(head.path).decode("latin-1"),
        "QUERY_STRING": head.query,
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": head.version,
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BufferedReader(body) if head.has_body else io.BytesIO(),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        ENVIRON_KEY: connection,
    }
    for name, value in head.fields:
        if "_" not in name:
            _add_field(environ, name, value)
    return environ


def _add_field(environ: dict[str, Any], name: str, value: str) -> None:
    key = _UNPREFIXED.get(name) or "HTTP_" + name.replace("-", "_").upper()
    if key in environ:
        value = environ[key] + ("; " if name == "cookie" else ", ") + value
    environ[key] = value

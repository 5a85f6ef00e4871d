"""The child's side of `meka.agent.worker`: nothing here imports more than the standard library."""

import _thread
import json
import os
import sys
from typing import Any

_NICENESS = 5


def take_request() -> tuple[dict[str, Any], bytes]:
    """The request and its payload; from now on this process ends when its parent does."""
    os.nice(_NICENESS)
    stdin = sys.stdin.buffer
    request = json.loads(stdin.readline())
    payload = stdin.read(request["size"])
    _thread.start_new_thread(_end_with_parent, ())
    return request, payload


def send(data: bytes) -> None:
    """Write to the parent; an end of the parent ends this process."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)

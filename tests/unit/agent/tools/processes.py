"""What tests of commands look for on the machine: processes that carry a mark in their arguments."""

import contextlib
import time
from collections.abc import Callable

import gevent
import psutil


def processes_marked(mark: str) -> list[int]:
    """The processes that carry the mark, but for those that have ended."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and mark in process.cmdline():
                found.append(process.pid)
    return found


def eventually(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether the condition comes to hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        gevent.sleep(0.01)
    return True

"""The server's hold on the process that forks supervisors of commands (`meka.agent.tools.supervisor`)."""

import array
import contextlib
import os
import signal
import sys
import weakref
from typing import Any

import gevent
from gevent import socket

from meka.agent.tools import supervisor

_RESET_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGCHLD,
)
_READABLE = 1


class Launcher:
    """Starts the launching process when it is first needed, and again when it died."""

    def __init__(self) -> None:
        self._socket: Any = None

    def launch(self, stdout: int, stderr: int, control: int) -> None:
        """Have a supervisor forked that holds copies of these descriptors. Raises: OSError."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (stdout, stderr, control)))]
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.sendmsg([b"+"], rights)
                return
            self.close()
        self._socket = _start()
        weakref.finalize(self, self._socket.close)
        self._socket.sendmsg([b"+"], rights)

    def close(self) -> None:
        """End the launching process, and with it every command that is left."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _start() -> Any:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.set_blocking(theirs.fileno(), True)
    null = os.open(os.devnull, os.O_RDWR)
    wiring = [(null, 0), (null, 1), (null, 2), (theirs.fileno(), supervisor.CONTROL_FD)]
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", supervisor.__file__],
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in wiring],
            setsid=True,
            setsigmask=(),
            setsigdef=_RESET_SIGNALS,
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(null)
    _reap_when_dead(pid)
    return ours


def _reap_when_dead(pid: int) -> None:
    """Collect the process when it ends; a watcher and no greenlet, for that may be days from now."""
    handle = os.pidfd_open(pid)
    watcher = gevent.get_hub().loop.io(handle, _READABLE)
    watcher.ref = False

    def reap() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        watcher.stop()
        watcher.close()
        os.close(handle)

    watcher.start(reap)

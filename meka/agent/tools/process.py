"""A command under its supervisor, as the server holds it: two pipes to read, a socket to command by."""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import gevent
from gevent import socket

from meka.agent.tools import supervisor
from meka.agent.tools.launcher import Launcher

GRACE_SECONDS = 0.2
_CHUNK_BYTES = 1 << 16
_DEATH_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Command:
    """What to run: `argv` with an absolute executable, where, and with which variables.

    `temporary`: a directory made for the command; it is removed, and what was left running ended, at its end.
    """

    argv: Sequence[str]
    directory: Path
    environment: Mapping[str, str]
    temporary: Path | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, or why it never started or is not known."""

    exit_code: int | None
    error: str = ""


class Process:
    """A running command. Leaving the `with` block before `detach` ends all that the command started."""

    def __init__(self, command: Command, launcher: Launcher) -> None:
        with contextlib.ExitStack() as on_failure, contextlib.ExitStack() as handed_over:
            self._control, control_end = socket.socketpair()
            on_failure.callback(self._control.close)
            handed_over.callback(control_end.close)
            self.stdout, stdout_end = _open_pipe(on_failure, handed_over)
            self.stderr, stderr_end = _open_pipe(on_failure, handed_over)
            launcher.launch(stdout_end, stderr_end, control_end.fileno())
            self._descriptors = on_failure.pop_all()
        self._request = _encode_request(command)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._descriptors.close()

    def start(self) -> None:
        """Tell the supervisor what to run."""
        with contextlib.suppress(OSError):
            self._control.sendall(self._request)

    def read_ended(self) -> Ended:
        """Wait for the command's end; what it left running may still hold the pipes."""
        received = b""
        while not received.endswith(b"\n"):
            piece = self._receive()
            if not piece:
                return Ended(None, "its supervisor was killed or could not be started")
            received += piece
        told = json.loads(received)
        return Ended(told.get("exit_code"), told.get("error", ""))

    def stop(self) -> None:
        """End the command and all that it started; returns when that is done."""
        self._tell(supervisor.STOP)
        with gevent.Timeout(_DEATH_SECONDS, False):
            while self._receive():
                pass

    def detach(self) -> None:
        """Leave what the command put into the background to the supervisor, which ends it with the server."""
        self._tell(supervisor.DETACH)

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._control.sendall(word)

    def _receive(self) -> bytes:
        try:
            received: bytes = self._control.recv(4096)
        except OSError:
            return b""
        return received


def read_chunk(descriptor: int) -> bytes:
    """The next bytes of a non-blocking pipe, b"" at its end; every call lets the hub run."""
    while True:
        socket.wait_read(descriptor)
        with contextlib.suppress(BlockingIOError):
            return os.read(descriptor, _CHUNK_BYTES)


def _open_pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose reading end, ours, never blocks."""
    readable, writable = os.pipe()
    ours.callback(os.close, readable)
    theirs.callback(os.close, writable)
    os.set_blocking(readable, False)
    return readable, writable


def _encode_request(command: Command) -> bytes:
    request: dict[str, Any] = {
        "argv": list(command.argv),
        "directory": str(command.directory),
        "environment": dict(command.environment),
        "grace_seconds": GRACE_SECONDS,
        "temporary": str(command.temporary) if command.temporary else None,
    }
    return json.dumps(request).encode() + b"\n"

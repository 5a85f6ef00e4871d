"""A crowd of readers in a process of its own, so that what they cost is not taken for the server's delay.

`python -m tools.bench.crowd PORT PATH DRAINING STALLED` opens the streams, prints a line once all are open,
and ends when its input does. Those that drain are emptied a few times a second, which their sockets' buffers
outlast; those that are stalled are never read, and have hardly a buffer.
"""

import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tools.bench.client import BenchError, raise_descriptor_limit
from tools.bench.rig import ROOT, TOKEN

DRAIN_SECONDS = 0.2
_READ_BYTES = 65536
_STALLED_BYTES = 4096
_WAIT_SECONDS = 60.0


@contextmanager
def crowd(port: int, path: str, draining: int, stalled: int = 0) -> Iterator[None]:
    """Readers that are there while the block runs. Raises: BenchError when they cannot all be."""
    command = [sys.executable, "-m", "tools.bench.crowd", str(port), path, str(draining), str(stalled)]
    child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if child.stdout is None or not child.stdout.readline():
            raise BenchError(f"{draining + stalled} readers of {path} could not be opened")
        yield
    finally:
        child.kill()
        child.communicate()


def main() -> None:
    """Read until nobody writes to this process any more."""
    raise_descriptor_limit()
    port, path, draining, stalled = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    never_read = [_open(port, path, _STALLED_BYTES) for _ in range(stalled)]
    readers = [_open(port, path) for _ in range(draining)]
    print(len(never_read) + len(readers), flush=True)
    while not select.select([sys.stdin], [], [], DRAIN_SECONDS)[0]:
        for reader in readers:
            _drain(reader)


def _open(port: int, path: str, buffer_bytes: int | None = None) -> socket.socket:
    """A stream whose head has come."""
    reader = socket.socket()
    if buffer_bytes is not None:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    reader.settimeout(_WAIT_SECONDS)
    reader.connect(("127.0.0.1", port))
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    reader.sendall(head.encode())
    answer = reader.recv(1024)
    if not answer.startswith(b"HTTP/1.1 200"):
        raise BenchError(f"{path}: {answer!r}")
    reader.setblocking(False)
    return reader


def _drain(reader: socket.socket) -> None:
    """Read what is there. The end of a stream is an error: readers stay to the end."""
    try:
        while piece := reader.recv(_READ_BYTES):
            if len(piece) < _READ_BYTES:
                return
    except BlockingIOError:
        return
    raise BenchError("the server ended a reader's stream")


if __name__ == "__main__":
    main()

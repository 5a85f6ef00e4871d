"""A server that runs out of descriptors rests, and serves on once there are some."""

import socket
import subprocess
import sys
import time

import psutil

from meka.server.limits import raise_descriptor_limit

_CHILD = """
from gevent import monkey
monkey.patch_all()
import logging, resource, signal, sys
import gevent
from gevent.event import Event
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.WARNING)
from meka.server import Server
from tests.unit.server.rawhttp import echo

server = Server("127.0.0.1:0", echo)
server.start()
print(server.address[1], flush=True)
stop = Event()
gevent.signal_handler(signal.SIGTERM, stop.set)
stop.wait()
server.close()
"""


def test_server_without_descriptors_rests_and_serves_on() -> None:
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _CHILD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        address = ("127.0.0.1", int(child.stdout.readline()))
        clients = [socket.create_connection(address, timeout=10) for _ in range(60)]
        assert child.stdout.readline() == "cannot accept connections: Too many open files\n"
        assert _processor_seconds(child.pid, during_seconds=1.0) < 0.3
        for client in clients:
            client.close()
        assert _status(address) == b"HTTP/1.1 200 OK"
        child.terminate()
        out, err = child.communicate(timeout=10)
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, out, err) == (0, "", "")


def _processor_seconds(pid: int, during_seconds: float) -> float:
    process = psutil.Process(pid)
    before = sum(process.cpu_times()[:2])
    time.sleep(during_seconds)
    return sum(process.cpu_times()[:2]) - before


def _status(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=10) as client, client.makefile("rb") as stream:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return stream.readline().rstrip()


def test_descriptor_limit_is_raised_as_far_as_it_may() -> None:
    script = (
        "import resource; from meka.server.limits import raise_descriptor_limit as up;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 100)); print(up(80), up(1000), up(10))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["80", "100", "100"]


def test_descriptor_limit_is_never_lowered() -> None:
    assert raise_descriptor_limit(1) > 1

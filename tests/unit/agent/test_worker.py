import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gevent
import psutil
import pytest
from gevent.event import Event

from meka.agent.cancel import Cancel, CanceledError
from meka.agent.worker import WorkerStoppedError, run_worker

ECHO = "tests.unit.agent.samples.echo"
ROOT = Path(__file__).parents[3]


def run(payload: bytes = b"", *, seconds: float = 30, **request: object) -> bytes:
    answer = bytearray()
    run_worker(ECHO, request, payload, on_output=answer.extend, seconds=seconds)
    return bytes(answer)


def await_that(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not check():
        assert time.monotonic() < deadline
        gevent.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_run_worker_hands_a_large_payload_there_and_back() -> None:
    payload = os.urandom(3_000_000)
    assert run(payload, times=2) == payload * 2


def test_run_worker_leaves_no_process_and_no_descriptor_behind() -> None:
    run()
    before = os.listdir("/proc/self/fd")
    for request in ({}, {"code": 3}, {"hang": True}):
        try:
            run(b"x", seconds=0.5, **request)
        except WorkerStoppedError:
            assert request
    assert os.listdir("/proc/self/fd") == before
    assert not [child for child in psutil.Process().children() if ECHO in " ".join(child.cmdline())]


def test_run_worker_tells_a_child_that_died() -> None:
    with pytest.raises(WorkerStoppedError) as caught:
        run(code=3)
    assert not caught.value.is_late


def test_run_worker_tells_a_module_that_is_not_there() -> None:
    with pytest.raises(WorkerStoppedError, match="ended with wait status"):
        run_worker("meka.absent", {}, bytes(1_000_000), on_output=bytearray().extend, seconds=30)


def test_run_worker_ends_a_child_that_is_late() -> None:
    with pytest.raises(WorkerStoppedError) as caught:
        run(seconds=0.3, hang=True)
    assert caught.value.is_late


def test_run_worker_ends_its_child_on_a_cancel() -> None:
    pids: list[int] = []
    told = Event()
    cancel = Cancel()

    def take(output: bytes) -> None:
        pids.append(int(output))
        told.set()

    def work() -> None:
        with pytest.raises(CanceledError):
            run_worker(ECHO, {"hang": True}, on_output=take, seconds=60, cancel=cancel)

    call = gevent.spawn(work)
    assert told.wait(20)
    cancel.request("client")
    call.get(timeout=20)
    assert not is_running(pids[0])


def test_run_worker_passes_on_what_the_reader_of_its_output_raises() -> None:
    def fail(output: bytes) -> None:
        raise ValueError(output)

    with pytest.raises(ValueError, match="x"):
        run_worker(ECHO, {"hang": True}, b"x", on_output=fail, seconds=60)


PATCHED = """
import gevent.monkey; gevent.monkey.patch_all()
import pathlib, sys
from tests.fakes import make_context
from meka.agent.tools.files import file_tools
pool = gevent.get_hub().threadpool
context = make_context(pathlib.Path(sys.argv[1]), run_blocking=lambda *call: pool.spawn(*call).get())
tools = {tool.name: tool for tool in file_tools()}
tools["file_write"].run({"path": "a.txt", "content": "needle"}, context)
print(tools["file_search"].run({"pattern": "needle"}, context).text)
print(tools["file_find"].run({"glob": "*"}, context).text)
gif = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
print(tools["image_render"].run({"base64": gif}, context).images[0].media_type)
"""


def test_workers_work_in_a_patched_world(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PATCHED, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [
        f"{tmp_path}/work/a.txt:1:needle",
        f"{tmp_path}/work/a.txt",
        "image/gif",
    ]


ORPHANING = f"""
from meka.agent.worker import run_worker
run_worker({ECHO!r}, {{"hang": True}}, on_output=lambda pid: print(pid.decode(), flush=True), seconds=600)
"""


def test_worker_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANING], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
    await_that(lambda: not is_running(pid))

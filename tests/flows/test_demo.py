"""`make demo` as a person sees it: it ends well, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.service.local_weights import find_weights

# The model and these tests share two cores with the tests beside them.
pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("local-model")]

ROOT = Path(__file__).parents[2]
# Orphans of the demo become this process's children, where it reaps the dead and counts the living.
WATCHER = """
import ctypes, os, signal, subprocess, sys
import psutil

def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass

ctypes.CDLL(None).prctl(36, 1)
demo = subprocess.Popen([sys.executable, "-m", "tools.demo"])
signal.signal(signal.SIGINT, lambda number, frame: demo.send_signal(number))
code = demo.wait()
reap()
left = psutil.Process().children(recursive=True)
print("left behind:", [process.cmdline() for process in left], flush=True)
sys.exit(code)
"""


@pytest.fixture
def demo(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    if sys.platform != "linux":
        pytest.skip("the watcher of what a demo leaves behind is made for Linux")
    try:
        find_weights("smollm2-135m-instruct")
    except ConfigurationError as absent:
        pytest.skip(absent.detail)
    process = subprocess.Popen(
        [sys.executable, "-c", WATCHER],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_demo_ends_well_and_leaves_nothing_behind(demo, tmp_path):
    shown, _ = demo.communicate(timeout=300)
    assert demo.returncode == 0, shown
    assert "the project's test passes now" in shown
    assert "assistant text         The function `total`" in shown
    assert shown.endswith("left behind: []\n")
    assert list(tmp_path.iterdir()) == []


def test_demo_stops_cleanly_when_it_is_interrupted(demo, tmp_path):
    shown = ""
    while "== Turn 1" not in shown:
        line = demo.stdout.readline()
        assert line, shown
        shown += line
    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, rest
    assert "Interrupted" in rest
    assert rest.endswith("left behind: []\n")
    assert list(tmp_path.iterdir()) == []

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

ROOT = Path(__file__).parents[2]
# Orphans of the demo become this process's children, where it can count them.
WATCHER = """
import ctypes, os, signal, subprocess, sys
import psutil
ctypes.CDLL(None).prctl(36, 1)
demo = subprocess.Popen([sys.executable, "-m", "tools.demo"])
signal.signal(signal.SIGINT, lambda number, frame: demo.send_signal(number))
code = demo.wait()
left = [process for process in psutil.Process().children(recursive=True) if process.pid != demo.pid]
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
    shown, _ = demo.communicate(timeout=100)
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

"""Work that would hold the interpreter for long, in a child process of its own that ends when we say or die.

Shape: the child reads one JSON line and then `size` bytes from its standard input, writes its answer to its
standard output and exits; the input stays open until then, so that its end tells the child that we are gone.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gevent
from gevent.subprocess import PIPE, Popen

import meka
from meka.agent.cancel import Cancel

_BOOT = "import sys,importlib;sys.path.extend(sys.argv[2:]);importlib.import_module(sys.argv[1]).main()"
_READ_BYTES = 256 * 1024


class WorkerStoppedError(Exception):
    """The child died, or ran out of its time (`is_late`)."""

    def __init__(self, sentence: str, *, is_late: bool = False) -> None:
        super().__init__(sentence)
        self.is_late = is_late


def run_worker(
    module: str,
    request: Mapping[str, Any],
    payload: bytes = b"",
    *,
    on_output: Callable[[bytes], None],
    seconds: float,
    cancel: Cancel | None = None,
) -> None:
    """Run `module.main()` in a bare child interpreter, handing its output over as it comes.

    Raises: WorkerStoppedError; CanceledError when `cancel` was asked for; whatever `on_output` raises.
    """
    process = Popen(  # the bare interpreter skips site and the environment: it starts in 15 ms
        [sys.executable, "-I", "-S", "-c", _BOOT, module, *_search_path()],
        stdin=PIPE,
        stdout=PIPE,
        stderr=None,
    )
    head = json.dumps({**request, "size": len(payload)}).encode() + b"\n"
    talk = gevent.spawn(_talk, process, head + payload, on_output)
    talk.name = f"worker:{module}"
    try:
        if cancel is None:
            gevent.wait([talk], timeout=seconds)
        else:
            cancel.wait_beside([talk], seconds)
            cancel.check()
        if not talk.ready():
            raise WorkerStoppedError(f"{module} took longer than {seconds:g} s", is_late=True)
        talk.get()
    finally:
        _end(process, talk)
    if process.returncode:
        raise WorkerStoppedError(f"{module} ended with code {process.returncode}")


def _talk(process: Any, request: bytes, on_output: Callable[[bytes], None]) -> None:
    try:
        process.stdin.write(request)
        process.stdin.flush()
    except BrokenPipeError:
        pass  # the child ended early; its code tells
    while chunk := process.stdout.read1(_READ_BYTES):
        on_output(chunk)
    process.wait()


def _end(process: Any, talk: Any) -> None:
    if process.poll() is None:
        process.kill()
    talk.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        try:
            pipe.close()
        except OSError:
            continue  # what was never written to a child that is gone


def _search_path() -> list[str]:
    return [str(Path(meka.__file__).parent.parent), *(entry for entry in sys.path if entry)]

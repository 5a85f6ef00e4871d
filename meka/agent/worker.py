"""Work that would hold the interpreter for long, in a child process of its own that ends when we say or die.

Shape: the child reads one JSON line and then `size` bytes from its standard input, writes its answer to its
standard output and exits; the input stays open until then, so that its end tells the child that we are gone
(`meka.agent.childside` is the child's half).
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event
from gevent.fileobject import FileObjectPosix

import meka
from meka.agent.cancel import Cancel

_BOOT = "import sys,importlib;sys.path.extend(sys.argv[2:]);importlib.import_module(sys.argv[1]).main()"
_READ_BYTES = 256 * 1024


class WorkerStoppedError(Exception):
    """The child could not be started, died, or ran out of its time (`is_late`)."""

    def __init__(self, sentence: str, *, is_late: bool = False) -> None:
        super().__init__(sentence)
        self.is_late = is_late


class _Child:
    """A started child: the pipes to and from it, and its end."""

    def __init__(self, module: str) -> None:
        self.pid, to_child, from_child = _spawn(module)
        self.exited = Event()
        self._watcher = self._watch()
        self.to_child = FileObjectPosix(to_child, "wb", 0)
        self.from_child = FileObjectPosix(from_child, "rb", 0)

    @property
    def status(self) -> int:
        """The wait status, once it has exited."""
        return int(self._watcher.rstatus)

    def end(self) -> None:
        """Kill it if it still runs; it is gone, and everything of it closed, when this returns."""
        if not self.exited.is_set():
            os.kill(self.pid, signal.SIGKILL)  # the loop has not reaped it: the pid is still its own
        self.exited.wait()
        self._watcher.stop()
        self._watcher.close()
        for pipe in (self.to_child, self.from_child):
            with suppress(OSError):
                pipe.close()

    def _watch(self) -> Any:
        loop = gevent.get_hub().loop
        loop.install_sigchld()
        watcher = loop.child(self.pid)
        watcher.start(self.exited.set)
        return watcher


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
    head = json.dumps({**request, "size": len(payload)}).encode() + b"\n"
    with _started(module) as child:
        talk = gevent.spawn(_talk, child, head + payload, on_output)
        talk.name = f"worker:{module}"
        try:
            _wait(talk, seconds, cancel)
        finally:
            finished = talk.successful()
            talk.kill()
        if not finished:
            talk.get()  # what the talk itself stumbled over
            raise WorkerStoppedError(f"{module} took longer than {seconds:g} s", is_late=True)
        if child.status:
            raise WorkerStoppedError(f"{module} ended with wait status {child.status}")


@contextmanager
def _started(module: str) -> Iterator[_Child]:
    try:
        child = _Child(module)
    except OSError as error:
        raise WorkerStoppedError(f"{module} could not be started: {error.strerror}") from error
    try:
        yield child
    finally:
        child.end()


def _wait(talk: Any, seconds: float, cancel: Cancel | None) -> None:
    if cancel is None:
        gevent.wait([talk], timeout=seconds)
        return
    cancel.wait_beside([talk], seconds)
    cancel.check()


def _talk(child: _Child, request: bytes, on_output: Callable[[bytes], None]) -> None:
    view = memoryview(request)
    with suppress(BrokenPipeError):  # the child ended early: its status tells
        while view:
            view = view[child.to_child.write(view) :]
    while chunk := child.from_child.read(_READ_BYTES):
        on_output(chunk)
    child.exited.wait()


def _spawn(module: str) -> tuple[int, int, int]:
    """The pid and our ends of its pipes; posix_spawn copies no page tables, however large we are."""
    with ExitStack() as theirs, ExitStack() as ours:
        their_input, to_child = os.pipe()
        theirs.callback(os.close, their_input)
        ours.callback(os.close, to_child)
        from_child, their_output = os.pipe()
        theirs.callback(os.close, their_output)
        ours.callback(os.close, from_child)
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _BOOT, module, *_search_path()],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, their_input, 0), (os.POSIX_SPAWN_DUP2, their_output, 1)],
            setpgroup=0,
        )
        ours.pop_all()
    return pid, to_child, from_child


def _search_path() -> list[str]:
    return [str(Path(meka.__file__).parent.parent), *(entry for entry in sys.path if entry)]

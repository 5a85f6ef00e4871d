"""The processes between the server and its commands: they let nothing of a command escape.

It is executed as a file by a bare interpreter (`python -I -S supervisor.py`), so it imports nothing of
meka. That process, the launcher, is started once and forks a supervisor a command: forking the server
itself would stop its hub for milliseconds, and an interpreter a command would take thirty. Each message on
its socket (descriptor 3) carries three descriptors: the command's stdout and stderr, and a stream socket to
the server.

On that socket the server sends one line of JSON (`argv`, `environment`, `directory`, `grace_seconds`,
`temporary`), then `s` (stop the tree: TERM, KILL after the grace) or `d` (detach: the call is over). It is
answered one line,
`{"exit_code": N}` or `{"error": "..."}`, when the command ended or could not start. A connection that
closes without `d` means that the server died: the tree is killed.

`temporary`, where it is not null, is a directory made for the command. What the command left running ends
with it then, as it would in a namespace of processes, and the directory is removed after that.

As a child subreaper a supervisor inherits every orphan of the command, a `setsid` grandchild too, so "no
child left" means that nothing of the command is left. The launcher ends with the server, as its socket
does, and the kernel tells the supervisors when the launcher ends.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

CONTROL_FD = 3
STOP = b"s"
DETACH = b"d"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_OOM_RAISE = 500
_OOM_HIGHEST = 1000
_KILL_SECONDS = 5.0
_FREEZE_ROUNDS = 50
_SANDBOX_MONITOR = "bwrap"


def main() -> None:
    """Fork a supervisor for each message, until the server is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=CONTROL_FD)
    launcher = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 3)
        if not message:
            return
        if len(descriptors) == 3:
            _fork_supervisor(launcher, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _fork_supervisor(launcher: int, descriptors: Sequence[int]) -> None:
    """When there is no room for a process, the server learns it from the socket's end."""
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            _be_supervisor(launcher, descriptors)


def _be_supervisor(launcher: int, descriptors: Sequence[int]) -> None:
    try:
        os.setsid()
        for ours, theirs in enumerate(descriptors, 1):
            os.dup2(theirs, ours)
        os.closerange(CONTROL_FD + 1, os.sysconf("SC_OPEN_MAX"))
        os.set_blocking(CONTROL_FD, True)
        supervise(launcher)
    finally:
        os._exit(0)


def supervise(launcher: int) -> None:
    """Serve the one request that comes over the control socket."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    line, words = _read_request(CONTROL_FD)
    if os.getppid() != launcher:
        return
    request = json.loads(line)
    wakeup = _wake_on_signals()
    with contextlib.ExitStack() as afterwards:
        try:
            if request["temporary"]:
                os.mkdir(request["temporary"], 0o700)
                afterwards.callback(remove_tree, request["temporary"])
            child = _launch(request)
        except OSError as error:
            _report({"error": ": ".join(filter(None, (error.strerror, error.filename)))})
            return
        _let_go_of_output()
        watch = Watch(child, wakeup, request["grace_seconds"], ends_together=bool(request["temporary"]))
        if words:
            watch.obey(words)
        watch.run()


def remove_tree(directory: str) -> None:
    """Remove a command's directory, whatever the command made of it; nothing of it runs any more.

    It may be read-only, and deeper than paths are long: each directory is opened up, then lifted to the top.
    Links are removed and never followed.
    """
    prefix, lifted = f"{directory}/{os.urandom(8).hex()}-", 0
    pending = [directory]
    while pending:
        emptied = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(emptied, 0o700)
            for name in os.listdir(emptied):
                lifted += 1
                if _remove_or_lift(f"{emptied}/{name}", f"{prefix}{lifted}"):
                    pending.append(f"{prefix}{lifted}")
        if emptied != directory:
            _remove_empty(emptied)
    _remove_empty(directory)


def _remove_or_lift(path: str, lifted: str) -> bool:
    """Remove what is no directory; True for a directory, which is at `lifted` now."""
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return False
        os.chmod(path, 0o700)
        os.rename(path, lifted)
        return True
    return False


def _remove_empty(directory: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(directory)


class Watch:
    """The wait for the end of a command and of everything it started."""

    def __init__(self, child: int, wakeup_fd: int, grace_seconds: float, *, ends_together: bool) -> None:
        self._child = child
        self._child_ended = False
        self._ends_together = ends_together
        self._wakeup_fd = wakeup_fd
        self._grace_seconds = grace_seconds
        self._poller = select.poll()
        self._poller.register(CONTROL_FD, select.POLLIN)
        self._poller.register(wakeup_fd, select.POLLIN)

    def run(self) -> None:
        """Return when nothing of the command is left."""
        while self._reap():
            if self._child_ended and self._ends_together:
                self._kill()
                return
            for descriptor, _ in self._poller.poll():
                if descriptor == CONTROL_FD:
                    self.obey(_read_some(CONTROL_FD))
                elif signal.SIGTERM in _read_some(self._wakeup_fd):
                    self._kill()
                    return

    def obey(self, words: bytes) -> None:
        """Do what the server said; b"" is its death."""
        if DETACH in words:
            self._poller.unregister(CONTROL_FD)
            os.close(CONTROL_FD)
        elif STOP in words:
            self._terminate()
            self._kill()
        else:
            self._kill()

    def _reap(self) -> bool:
        """Collect the dead; False when there is no child left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._child:
                self._child_ended = True
                code = os.waitstatus_to_exitcode(status)
                _report({"exit_code": code if code >= 0 else 128 - code})

    def _terminate(self) -> None:
        """TERM for all but the sandbox's monitors, whose death would kill the command without its grace."""
        for pid, name in _descendants():
            if name != _SANDBOX_MONITOR:
                _send(pid, signal.SIGTERM)
        deadline = time.monotonic() + self._grace_seconds
        while self._reap() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _kill(self) -> None:
        """KILL the tree: stopped first, so that nothing in it forks away between the look and the blow."""
        deadline = time.monotonic() + _KILL_SECONDS
        while self._reap() and time.monotonic() < deadline:
            for pid in _frozen_descendants():
                _send(pid, signal.SIGKILL)
            time.sleep(0.002)


def _launch(request: dict[str, Any]) -> int:
    """Start the command; its failure to start comes back through a pipe. Raises: OSError."""
    failure, failure_end = os.pipe()
    child = os.fork()
    if child == 0:
        _become_command(request, failure_end)
    os.close(failure_end)
    with os.fdopen(failure, "rb") as pipe:
        told = pipe.read()
    if told:
        os.waitpid(child, 0)
        number, filename = json.loads(told)
        raise OSError(number, os.strerror(number), filename)
    return child


def _become_command(request: dict[str, Any], failure_end: int) -> None:
    blamed = request["directory"]
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _raise_oom_score()
        os.close(CONTROL_FD)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(blamed)
        blamed = request["argv"][0]
        os.execve(blamed, request["argv"], request["environment"])  # noqa: S606
    except OSError as error:
        os.write(failure_end, json.dumps([error.errno, blamed]).encode())
    finally:
        os._exit(127)


def _raise_oom_score() -> None:
    """When memory runs out, the command goes before the server."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "r+", encoding="ascii") as score:
        raised = min(_OOM_HIGHEST, int(score.read()) + _OOM_RAISE)
        score.seek(0)
        score.write(str(raised))


def _let_go_of_output() -> None:
    """The command alone holds the pipes, so that their end is its end."""
    for descriptor in (1, 2):
        os.dup2(0, descriptor)


def _wake_on_signals() -> int:
    """A descriptor that becomes readable at SIGCHLD and SIGTERM and then yields the signals' numbers."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return readable


def _frozen_descendants() -> set[int]:
    frozen: set[int] = set()
    for _ in range(_FREEZE_ROUNDS):
        new = {pid for pid, _ in _descendants()} - frozen
        for pid in new:
            _send(pid, signal.SIGSTOP)
        frozen |= new
        if not new:
            break
    return frozen


def _descendants() -> Iterator[tuple[int, str]]:
    """Every living process below this one, with its name."""
    names: dict[int, str] = {}
    children: dict[int, list[int]] = {}
    for pid, parent, name in _processes():
        names[pid] = name
        children.setdefault(parent, []).append(pid)
    pending = children.get(os.getpid(), [])
    while pending:
        pid = pending.pop()
        yield pid, names[pid]
        pending.extend(children.get(pid, ()))


def _processes() -> Iterator[tuple[int, int, str]]:
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file,
        ):
            head, _, tail = file.read().rpartition(")")
            state, parent = tail.split()[:2]
            if state != "Z":
                yield int(entry), int(parent), head.partition("(")[2]


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _report(message: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        os.write(CONTROL_FD, json.dumps(message).encode() + b"\n")


def _read_request(descriptor: int) -> tuple[bytes, bytes]:
    """The request's line and the words that came behind it."""
    received = b""
    while b"\n" not in received:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            sys.exit(0)
        received += piece
    line, _, words = received.partition(b"\n")
    return line, words


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    main()

"""`shell_execute`: a command line through `sh -c`, in a session of its own, confined below `unrestricted`."""

import os
import secrets
import tempfile
from collections.abc import Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event

from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.tools.confinement import Confinement
from meka.agent.tools.launcher import Launcher
from meka.agent.tools.output import CAP_BYTES, Output, Stream
from meka.agent.tools.paths import rules_of, shown
from meka.agent.tools.process import Command, Ended, Process, read_chunk
from meka.agent.tools.sandbox import (
    FAILURE_PREFIXES,
    Probe,
    Sandbox,
    allowed_environment,
    confined_command,
)
from meka.base.levels import Level
from meka.base.text import scrub
from meka.config.model import SandboxBackend

DEFAULT_TIMEOUT_MS = 30_000
DRAIN_SECONDS = 5.0
_SHELL = "/bin/sh"
_LONGEST_WAIT_SECONDS = 3600.0
_LAST_WORDS_SECONDS = 1.0
_DESCRIPTION = (
    "Run a command line with `sh -c` in the working directory and return what it printed. Standard input "
    "is empty. Below the unrestricted level the command can write only inside the workspace (at read: "
    "nowhere), {places}, and ends with the call; the network is reachable."
)
_PLACES = "has empty private /tmp and /run"
_PLACES_OF_LANDLOCK = "has an empty private directory named by $TMPDIR but no /tmp, /run and terminals"


class Verdict(Enum):
    """Why the wait for a command is over."""

    ENDED = auto()
    CANCELED = auto()
    TIMED_OUT = auto()
    TOO_MUCH_OUTPUT = auto()


class ShellTool:
    """Runs command lines; the level it needs follows from the sandbox it was made with."""

    name = "shell_execute"
    description = _DESCRIPTION.format(places=_PLACES)
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line."},
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "default": DEFAULT_TIMEOUT_MS,
                "description": "Milliseconds after which the command and all it started are killed.",
            },
        },
        "required": ["command"],
    }
    summary_argument: str | None = "command"
    takes_scratchpad = True
    deferred = False
    serial = False

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._launcher = Launcher()
        self.level = sandbox.shell_level
        if sandbox.found.backend is SandboxBackend.LANDLOCK:
            self.description = _DESCRIPTION.format(places=_PLACES_OF_LANDLOCK)

    def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Run one command to its end, its timeout or the turn's cancel."""
        context.cancel.check()
        timeout_ms = arguments.get("timeout_ms", DEFAULT_TIMEOUT_MS)
        command = self._prepare(scrub(arguments["command"]), context)
        output = Output(context.emit_output, context.clock.monotonic)
        with self._open_process(command) as process:
            verdict, ended = Execution(process, output, context, timeout_ms / 1000).run()
        output.flush()
        if verdict is Verdict.CANCELED:
            context.cancel.check()
        return self._outcome(verdict, ended, output, timeout_ms)

    def close(self) -> None:
        """End every command that is left, also what calls left behind in the background."""
        self._launcher.close()

    def _prepare(self, line: str, context: ToolContext) -> Command:
        argv = (_SHELL, "-c", line)
        directory = context.working_directory
        here = {"PWD": str(directory)}
        level = context.level()
        if level is Level.UNRESTRICTED:
            return Command(argv, directory, {**os.environ, **here})
        rules_of(context).require_in_place()
        if not directory.is_dir():
            raise ToolError(f"the working directory {shown(directory)} is gone, or is no directory any more")
        found = self._usable_backend(level)
        temporary = _new_temporary() if found.backend is SandboxBackend.LANDLOCK else None
        confined = confined_command(found, _confinement(level, context, temporary), argv)
        return Command(confined, directory, allowed_environment(os.environ, temporary) | here, temporary)

    def _usable_backend(self, level: Level) -> Probe:
        if not self._sandbox.enabled:
            raise ToolError(
                f"{self.name} needs the unrestricted level, for the sandbox is off; the session is at {level}"
            )
        found = self._sandbox.found
        if not found.usable:
            raise ToolError(f"the sandbox backend {found.backend} is not usable on this host: {found.reason}")
        return found

    def _open_process(self, command: Command) -> Process:
        try:
            return Process(command, self._launcher)
        except OSError as error:
            raise ToolError(f"the command could not be run: {error.strerror}") from error

    def _outcome(self, verdict: Verdict, ended: Ended | None, output: Output, timeout_ms: int) -> ToolOutcome:
        stdout, stderr = output.text(Stream.STDOUT), output.text(Stream.STDERR)
        if verdict is Verdict.TIMED_OUT:
            reason = f"The command timed out after {timeout_ms} ms and was killed."
        elif verdict is Verdict.TOO_MUCH_OUTPUT:
            reason = f"The command printed more than {CAP_BYTES // 1024**2} MiB and was killed."
        else:
            return self._ended_outcome(ended or Ended(None), stdout, stderr)
        return ToolOutcome(_lay_out(reason, stdout, stderr), is_error=True)

    def _ended_outcome(self, ended: Ended, stdout: str, stderr: str) -> ToolOutcome:
        if ended.exit_code is None:
            raise ToolError(f"the command could not be run: {ended.error}")
        if ended.exit_code == 0:
            return ToolOutcome(_lay_out("", stdout, stderr) or "(no output)")
        if not stdout and stderr.startswith(FAILURE_PREFIXES):
            raise ToolError(f"the sandbox backend {self._sandbox.found.backend} failed: {stderr.strip()}")
        return ToolOutcome(_lay_out("", stdout, stderr, f"Exit code: {ended.exit_code}"), is_error=True)


class Execution:
    """The wait for one command beside its output, its timeout and the turn's cancel."""

    def __init__(
        self, process: Process, output: Output, context: ToolContext, timeout_seconds: float
    ) -> None:
        self._process = process
        self._output = output
        self._cancel = context.cancel
        self._monotonic = context.clock.monotonic
        self._deadline = self._monotonic() + timeout_seconds
        self._drained_by: float | None = None
        self._stirred = Event()

    def run(self) -> tuple[Verdict, Ended | None]:
        """Run the command; when it does not end by itself, nothing of it is left afterwards."""
        self._process.start()
        ending = gevent.spawn(self._process.read_ended)
        pumps = [
            gevent.spawn(self._pump, Stream.STDOUT, self._process.stdout),
            gevent.spawn(self._pump, Stream.STDERR, self._process.stderr),
        ]
        for greenlet in (ending, *pumps):
            greenlet.link(lambda _: self._stirred.set())
        try:
            verdict = self._wait(ending, pumps)
            self._conclude(verdict, ending, pumps)
            return verdict, ending.value
        finally:
            gevent.killall([ending, *pumps])

    def _wait(self, ending: gevent.Greenlet, pumps: list[gevent.Greenlet]) -> Verdict:
        while True:
            verdict = self._verdict(ending, pumps)
            if verdict is not None:
                return verdict
            self._output.emit_due()
            self._cancel.wait_beside([self._stirred], self._seconds_to_wait())
            self._stirred.clear()

    def _verdict(self, ending: gevent.Greenlet, pumps: list[gevent.Greenlet]) -> Verdict | None:
        if self._output.overflowed:
            return Verdict.TOO_MUCH_OUTPUT
        now = self._monotonic()
        if ending.ready():
            self._drained_by = self._drained_by or now + DRAIN_SECONDS
            if now >= self._drained_by or all(pump.ready() for pump in pumps):
                return Verdict.ENDED
        if self._cancel.requested:
            return Verdict.CANCELED
        timed_out = not ending.ready() and now >= self._deadline
        return Verdict.TIMED_OUT if timed_out else None

    def _seconds_to_wait(self) -> float:
        until = self._deadline if self._drained_by is None else self._drained_by
        waits = [until - self._monotonic(), _LONGEST_WAIT_SECONDS]
        due = self._output.seconds_until_due()
        if due is not None:
            waits.append(due)
        return max(0.0, min(waits))

    def _conclude(self, verdict: Verdict, ending: gevent.Greenlet, pumps: list[gevent.Greenlet]) -> None:
        if verdict is Verdict.ENDED:
            self._process.detach()
        else:
            ending.kill()
            self._process.stop()
            gevent.joinall(pumps, timeout=_LAST_WORDS_SECONDS)
        for stream in Stream:
            self._output.close(stream)

    def _pump(self, stream: Stream, descriptor: int) -> None:
        while data := read_chunk(descriptor):
            self._output.feed(stream, data)
            self._stirred.set()


def _new_temporary() -> Path:
    """The name of a directory that the supervisor makes and removes: not even a killed server leaves one."""
    return Path(tempfile.gettempdir()).resolve() / f"meka-{secrets.token_hex(8)}"


def _confinement(level: Level, context: ToolContext, temporary: Path | None) -> Confinement:
    return Confinement(
        directory=context.working_directory,
        writable=context.roots if level is Level.WORKSPACE else (),
        visible=(*context.roots, context.working_directory),
        masked=context.private_dirs,
        unmasked=context.readable_private,
        temporary=temporary,
    )


def _lay_out(reason: str, stdout: str, stderr: str, last: str = "") -> str:
    """The parts that are there, each beginning a line of its own; `stderr` under its heading."""
    parts = [reason, stdout, f"--- stderr ---\n{stderr}" if stderr else "", last]
    text = ""
    for part in filter(None, parts):
        text += part if not text or text.endswith("\n") else f"\n{part}"
    return text

"""`shell_execute` with real processes: what it answers, and that no command outlives what it should."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import psutil
import pytest

from meka.agent.cancel import CanceledError
from meka.agent.tools import supervisor
from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.tools.sandbox import Probe, Sandbox, probe
from meka.agent.tools.shell import ShellTool
from meka.base.clock import SystemClock
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend
from tests.fakes import make_context
from tests.unit.agent.tools.processes import eventually, processes_marked

FOUND = probe(Backend.BUBBLEWRAP)
SANDBOXED_SETTINGS = Sandbox(True, None, FOUND)
SANDBOXED = ShellTool(SANDBOXED_SETTINGS)
PLAIN = ShellTool(Sandbox(False, None, Probe(Backend.BUBBLEWRAP, reason="off")))
needs_bubblewrap = pytest.mark.skipif(not FOUND.usable, reason=f"no usable bubblewrap: {FOUND.reason}")
LEVELS = [
    pytest.param(Level.READ, marks=needs_bubblewrap),
    pytest.param(Level.WORKSPACE, marks=needs_bubblewrap),
    Level.UNRESTRICTED,
]
PYTHON = os.path.realpath(sys.executable)
"""The interpreter itself, not a virtual environment's link to it: one below /tmp is hidden in the sandbox."""
RESTLESS = (
    "import os, signal, time; signal.signal(15, signal.SIG_IGN)\n"
    "while True: os.fork() and os._exit(0); os.setsid(); time.sleep(0.02)"
)
"""Code that is a new process, in a new session, every moment; each lasts long enough to be listed."""
ESCAPES = {
    "child": "sleep {0} & wait",
    "nohup": "nohup sleep {0} >/dev/null 2>&1 & wait",
    "setsid": "setsid sleep {0} & wait",
    "double fork": "(setsid sh -c 'sleep {0} & wait' >/dev/null 2>&1 &) ; sleep 100",
    "deaf": "trap '' TERM; sleep {0}",
    "restless": f"{PYTHON} -S -c '{RESTLESS}' {{0}} & sleep 100",
}


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., ToolContext]:
    def make(level: Level = Level.UNRESTRICTED, told: list[str] | None = None) -> ToolContext:
        emit = told.append if told is not None else None
        return dataclasses.replace(make_context(tmp_path, level=level, emit_output=emit), clock=SystemClock())

    return make


def run(context: ToolContext, command: str, tool: ShellTool = SANDBOXED, **more: int) -> ToolOutcome:
    return tool.run({"command": command, **more}, context)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("command", "text", "is_error"),
    [
        ("echo hi", "hi\n", False),
        ("printf hi", "hi", False),
        ("true", "(no output)", False),
        ("false", "Exit code: 1", True),
        ("printf out; printf err >&2", "out\n--- stderr ---\nerr", False),
        ("echo err >&2; exit 3", "--- stderr ---\nerr\nExit code: 3", True),
        ("cat", "(no output)", False),
        ("printf 'a\\377b'", "a\ufffdb", False),
        ("printf 'a\\000b'", "a\ufffdb", False),
        ("kill -9 $$", "Exit code: 137", True),
        ("exec 1>&- 2>&-; sleep 0.2; exit 4", "Exit code: 4", True),
        ("pwd", "{work}\n", False),
        ("echo $PWD", "{work}\n", False),
    ],
)
def test_shell_answers_with_what_was_printed(
    context: Callable[..., ToolContext], level: Level, command: str, text: str, is_error: bool
) -> None:
    call = context(level)
    outcome = run(call, command)
    assert outcome.text == text.format(work=call.working_directory)
    assert outcome.is_error is is_error


def test_shell_gives_the_command_a_session_of_its_own(context: Callable[..., ToolContext]) -> None:
    printed = run(context(), "cut -d' ' -f1,5,6 /proc/$$/stat").text.split()
    assert len(set(printed)) == 1
    assert int(printed[0]) != os.getsid(0)


def test_shell_raises_the_oom_score_of_the_command(context: Callable[..., ToolContext]) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(run(context(), "cat /proc/self/oom_score_adj").text) == min(1000, own + 500)


def test_shell_restores_the_signals_a_command_expects(context: Callable[..., ToolContext]) -> None:
    ignored = int(run(context(), "grep SigIgn /proc/self/status").text.split()[1], 16)
    assert not ignored & sum(1 << number - 1 for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM))


def test_shell_leaks_no_descriptors_into_the_command(context: Callable[..., ToolContext]) -> None:
    readable, writable = os.pipe()
    os.set_inheritable(writable, True)
    listed = run(context(), "exec ls -l /proc/self/fd").text
    os.close(readable)
    os.close(writable)
    assert len([line for line in listed.splitlines() if "pipe:" in line or "socket:" in line]) == 2


def test_shell_keeps_no_descriptor_when_a_call_is_over(context: Callable[..., ToolContext]) -> None:
    run(context(), "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run(context(), "true")
    assert eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


@needs_bubblewrap
@pytest.mark.parametrize("level", [Level.READ, Level.WORKSPACE])
def test_shell_confines_the_environment_below_unrestricted(
    context: Callable[..., ToolContext], level: Level, tmp_path: Path
) -> None:
    script = f"""
import os, dataclasses
os.environ["MEKA_TEST_SECRET"] = "s3cret"
from pathlib import Path
from meka.agent.tools.sandbox import build_sandbox
from meka.agent.tools.shell import ShellTool
from meka.base.clock import SystemClock
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend
from tests.fakes import make_context
for level in (Level("{level}"), Level.UNRESTRICTED):
    context = dataclasses.replace(make_context(Path("{tmp_path}"), level=level), clock=SystemClock())
    print(ShellTool(build_sandbox(True)).run({{"command": "env | grep -c s3cret"}}, context).text.split()[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0", "1"]


@needs_bubblewrap
@pytest.mark.parametrize(("level", "written"), [(Level.READ, False), (Level.WORKSPACE, True)])
def test_shell_writes_into_the_workspace_only_at_workspace(
    context: Callable[..., ToolContext], level: Level, written: bool
) -> None:
    call = context(level)
    assert run(call, "touch inside").is_error is not written
    assert run(call, "touch /usr/outside").is_error
    assert (call.working_directory / "inside").exists() is written
    assert not Path("/usr/outside").exists()


@needs_bubblewrap
def test_shell_reaches_the_network_when_confined(context: Callable[..., ToolContext]) -> None:
    with gevent.socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        dial = f"{PYTHON} -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)'"
        assert not run(context(Level.READ), dial).is_error


@pytest.mark.parametrize("level", [Level.NONE, Level.READ, Level.WORKSPACE])
def test_shell_refuses_when_the_sandbox_is_off(context: Callable[..., ToolContext], level: Level) -> None:
    with pytest.raises(ToolError, match="unrestricted"):
        run(context(level), "true", PLAIN)


def test_shell_names_the_backend_when_it_is_gone(context: Callable[..., ToolContext]) -> None:
    broken = ShellTool(Sandbox(True, Backend.BUBBLEWRAP, Probe(Backend.BUBBLEWRAP, reason="no namespaces")))
    with pytest.raises(ToolError, match=r"bubblewrap.*no namespaces"):
        run(context(Level.READ), "true", broken)


def test_shell_names_the_backend_when_it_vanished_after_the_probe(
    context: Callable[..., ToolContext],
) -> None:
    gone = ShellTool(Sandbox(True, None, Probe(Backend.BUBBLEWRAP, executable="/nowhere/bwrap")))
    with pytest.raises(ToolError, match="/nowhere/bwrap"):
        run(context(Level.READ), "true", gone)


def test_shell_says_so_when_the_directory_is_gone(context: Callable[..., ToolContext]) -> None:
    call = context()
    call.working_directory.rmdir()
    with pytest.raises(ToolError, match="No such file"):
        run(call, "true")


def test_shell_says_so_when_the_command_is_too_long(context: Callable[..., ToolContext]) -> None:
    with pytest.raises(ToolError, match="too long"):
        run(context(), "true " + "x" * 200_000)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("escape", ESCAPES)
def test_shell_kills_the_whole_tree_at_the_timeout(
    context: Callable[..., ToolContext], level: Level, escape: str, mark: str
) -> None:
    outcome = run(context(level), ESCAPES[escape].format(mark), timeout_ms=400)
    assert outcome.is_error
    assert "400 ms" in outcome.text
    assert processes_marked(mark) == []


def test_shell_keeps_the_output_so_far_at_the_timeout(context: Callable[..., ToolContext]) -> None:
    outcome = run(context(), "echo before; echo oops >&2; sleep 100", timeout_ms=2000)
    assert outcome.text == (
        "The command timed out after 2000 ms and was killed.\nbefore\n--- stderr ---\noops\n"
    )


@pytest.mark.parametrize("level", LEVELS)
def test_shell_lets_a_command_clean_up_at_the_timeout(
    context: Callable[..., ToolContext], level: Level
) -> None:
    outcome = run(context(level), "trap 'echo cleaned; exit' TERM; sleep 50 & wait", timeout_ms=2000)
    assert "cleaned" in outcome.text


@pytest.mark.parametrize("level", LEVELS)
def test_shell_kills_the_whole_tree_at_a_cancel(
    context: Callable[..., ToolContext], level: Level, mark: str
) -> None:
    call = context(level)
    calling = gevent.spawn(run, call, ESCAPES["setsid"].format(mark))
    assert eventually(lambda: bool(processes_marked(mark)))
    call.cancel.request("client")
    with pytest.raises(CanceledError):
        calling.get(timeout=20)
    assert processes_marked(mark) == []


def test_shell_kills_the_whole_tree_when_its_greenlet_is_killed(
    context: Callable[..., ToolContext], mark: str
) -> None:
    calling = gevent.spawn(run, context(), ESCAPES["setsid"].format(mark))
    assert eventually(lambda: bool(processes_marked(mark)))
    calling.kill()
    assert eventually(lambda: not processes_marked(mark))


def test_shell_runs_nothing_when_already_canceled(context: Callable[..., ToolContext]) -> None:
    call = context()
    call.cancel.request("client")
    with pytest.raises(CanceledError):
        run(call, "touch ran")
    assert not (call.working_directory / "ran").exists()


def test_shell_ends_at_once_when_canceled_at_the_start(context: Callable[..., ToolContext]) -> None:
    call = context()
    calling = gevent.spawn(run, call, "sleep 100")
    gevent.sleep(0)
    call.cancel.request("client")
    with pytest.raises(CanceledError):
        calling.get(timeout=5)


def test_shell_leaves_no_zombie(context: Callable[..., ToolContext]) -> None:
    run(context(), "true")
    children = psutil.Process().children(recursive=True)
    assert all(child.status() != psutil.STATUS_ZOMBIE for child in children)


def test_shell_tells_on_all_that_was_printed(context: Callable[..., ToolContext]) -> None:
    told: list[str] = []
    outcome = run(context(told=told), "seq 1 500000; echo end >&2", timeout_ms=60_000)
    printed, _, last = outcome.text.partition("--- stderr ---\n")
    assert len(printed) > 3_000_000
    assert last == "end\n"
    assert sorted("".join(told)) == sorted(printed + last)


def test_shell_tells_on_output_while_the_command_runs(context: Callable[..., ToolContext]) -> None:
    told: list[str] = []
    call = context(told=told)
    calling = gevent.spawn(run, call, "echo early; read x < go; echo late")
    os.mkfifo(call.working_directory / "go")
    assert eventually(lambda: told == ["early\n"])
    gevent.get_hub().threadpool.apply((call.working_directory / "go").write_text, ("x\n",))
    assert calling.get(timeout=20).text == "early\nlate\n"
    assert told == ["early\n", "late\n"]


def test_shell_stops_a_command_that_prints_without_end(context: Callable[..., ToolContext]) -> None:
    outcome = run(context(), "yes", timeout_ms=100_000)
    assert outcome.is_error
    assert "64 MiB" in outcome.text[:100]
    assert 64 * 1024**2 <= len(outcome.text) < 64 * 1024**2 + 1000


def test_shell_lets_the_hub_run_while_a_command_floods(context: Callable[..., ToolContext]) -> None:
    beats = 0

    def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            gevent.sleep(1e-6)

    pulse = gevent.spawn(beat)
    run(context(), "yes | head -c 50000000")
    pulse.kill()
    assert beats > 100


def launchers() -> set[int]:
    found = set()
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if supervisor.__file__ in child.cmdline():
                found.add(child.pid)
    return found


def test_shell_starts_its_launcher_again_when_it_was_killed(context: Callable[..., ToolContext]) -> None:
    tool = ShellTool(SANDBOXED_SETTINGS)
    others = launchers()
    run(context(), "true", tool)
    (launcher,) = launchers() - others
    os.kill(launcher, signal.SIGKILL)
    assert eventually(lambda: not psutil.pid_exists(launcher))
    assert run(context(), "echo again", tool).text == "again\n"


def test_shell_ends_its_launcher_when_it_is_closed(context: Callable[..., ToolContext], mark: str) -> None:
    tool = ShellTool(SANDBOXED_SETTINGS)
    others = launchers()
    run(context(), f"setsid sleep {mark} >/dev/null 2>&1 & exit 0", tool)
    own = launchers() - others
    assert own
    assert processes_marked(mark)
    tool.close()
    tool.close()
    assert eventually(lambda: not launchers() & own)
    assert eventually(lambda: not processes_marked(mark))


def test_shell_says_so_when_its_supervisor_was_killed(context: Callable[..., ToolContext], mark: str) -> None:
    calling = gevent.spawn(run, context(), f"sleep {mark} & wait")
    assert eventually(lambda: bool(processes_marked(mark)))
    shell = psutil.Process(processes_marked(mark)[0]).parent()
    assert shell is not None
    os.kill(shell.ppid(), signal.SIGKILL)
    with pytest.raises(ToolError, match="supervisor was killed"):
        calling.get(timeout=20)
    for pid in processes_marked(mark):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def left_behind(mark: str) -> Iterator[str]:
    yield mark
    for pid in processes_marked(mark):
        os.kill(pid, signal.SIGKILL)


def test_shell_waits_a_bounded_time_for_what_holds_its_output(
    context: Callable[..., ToolContext], left_behind: str
) -> None:
    begun = time.monotonic()
    outcome = run(context(), f"sleep {left_behind} & echo started")
    assert outcome.text == "started\n"
    assert 4 < time.monotonic() - begun < 30


def test_shell_leaves_a_daemon_running_at_unrestricted(
    context: Callable[..., ToolContext], left_behind: str
) -> None:
    run(context(), f"setsid sleep {left_behind} >/dev/null 2>&1 & exit 0")
    assert processes_marked(left_behind)


SERVER = """
import gevent.monkey
gevent.monkey.patch_all()
import dataclasses, signal, sys
from pathlib import Path
import gevent
from meka.agent.tools.sandbox import build_sandbox
from meka.agent.tools.shell import ShellTool
from meka.base.clock import SystemClock
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend
from tests.fakes import make_context
directory, level, *commands = sys.argv[1:]
context = dataclasses.replace(make_context(Path(directory), level=Level(level)), clock=SystemClock())
tool = ShellTool(build_sandbox(True))
def stop():
    context.cancel.request("server_shutdown")
gevent.signal_handler(signal.SIGTERM, stop)
calls = [gevent.spawn(tool.run, {"command": command}, context) for command in commands]
gevent.joinall(calls)
"""


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("level", LEVELS)
def test_shell_leaves_nothing_behind_when_the_server_ends(
    tmp_path: Path, level: Level, number: signal.Signals, mark: str
) -> None:
    commands = [command.format(mark) for command in ESCAPES.values()]
    with subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), level, *commands]) as server:
        try:
            assert eventually(lambda: len(processes_marked(mark)) >= len(commands))
            server.send_signal(number)
            server.wait(timeout=30)
            if number is signal.SIGTERM:
                assert processes_marked(mark) == []
            assert eventually(lambda: not processes_marked(mark))
        finally:
            server.kill()


def test_shell_leaves_no_daemon_behind_when_the_server_is_killed(tmp_path: Path, mark: str) -> None:
    commands = [f"setsid sleep {mark} >/dev/null 2>&1 & exit 0", "sleep 100"]
    with subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), "unrestricted", *commands]) as server:
        assert eventually(lambda: len(processes_marked(mark)) == 1)
        server.kill()
    assert eventually(lambda: not processes_marked(mark))


@needs_bubblewrap
def test_working_directory_that_was_replaced_by_a_link_is_refused(
    context: Callable[..., ToolContext], tmp_path: Path
) -> None:
    held = context(Level.WORKSPACE)
    outside = tmp_path / "outside"
    outside.mkdir()
    held.working_directory.rename(tmp_path / "moved")
    held.working_directory.symlink_to(outside)
    with pytest.raises(ToolError, match="was replaced by a link"):
        run(held, "echo x > keys")
    assert list(outside.iterdir()) == []

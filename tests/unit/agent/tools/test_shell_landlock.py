"""`shell_execute` over the backends that use Landlock, with real processes."""

import dataclasses
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gevent
import pytest

from meka.agent.tools import supervisor
from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.sandbox import Probe, Sandbox, build_sandbox, probe
from meka.agent.tools.shell import ShellTool
from meka.base.clock import SystemClock
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend
from tests.fakes import make_context
from tests.unit.agent.tools.processes import eventually, processes_marked

ALONE = probe(Backend.LANDLOCK, minimum_abi=6)
INSIDE = probe(Backend.BUBBLEWRAP_LANDLOCK)
PLAIN = probe(Backend.BUBBLEWRAP)
PYTHON = os.path.realpath(sys.executable)
needs_landlock = pytest.mark.skipif(not ALONE.usable, reason=f"no usable Landlock: {ALONE.reason}")
needs_both = pytest.mark.skipif(not INSIDE.usable, reason=f"not usable: {INSIDE.reason}")
BACKENDS = [
    pytest.param(ALONE, marks=needs_landlock, id="alone"),
    pytest.param(INSIDE, marks=needs_both, id="inside-bubblewrap"),
]
every_backend = pytest.mark.parametrize("found", BACKENDS)


def pinned(found: Probe) -> ShellTool:
    return ShellTool(Sandbox(True, found.backend, found))


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., ToolContext]:
    def make(level: Level = Level.WORKSPACE) -> ToolContext:
        return dataclasses.replace(make_context(tmp_path, level=level), clock=SystemClock())

    return make


@every_backend
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hi", "hi\n"),
        ("pwd", "{work}\n"),
        ("kill -9 $$", "Exit code: 137"),
        ("echo err >&2; exit 3", "--- stderr ---\nerr\nExit code: 3"),
    ],
)
def test_shell_answers_with_what_was_printed(
    context: Callable[..., ToolContext], found: Probe, command: str, text: str
) -> None:
    call = context()
    outcome = pinned(found).run({"command": command}, call)
    assert outcome.text == text.format(work=call.working_directory)


@every_backend
@pytest.mark.parametrize(("level", "written"), [(Level.READ, False), (Level.WORKSPACE, True)])
def test_shell_writes_into_the_workspace_only_at_workspace(
    context: Callable[..., ToolContext], found: Probe, level: Level, written: bool
) -> None:
    call, tool = context(level), pinned(found)
    assert tool.run({"command": "echo x > inside"}, call).is_error is not written
    assert tool.run({"command": "touch /usr/outside"}, call).is_error
    assert (call.working_directory / "inside").exists() is written
    assert not Path("/usr/outside").exists()


@every_backend
def test_shell_reads_no_private_directory(context: Callable[..., ToolContext], found: Probe) -> None:
    call = context()
    config, data = call.private_dirs
    (config / "config.toml").write_text("secret")
    (config / "skills/SKILL.md").write_text("a skill")
    (data / "meka.db").write_text("secret")
    listed = pinned(found).run({"command": f"cat {config}/*.toml {data}/* {config}/skills/SKILL.md"}, call)
    assert listed.is_error
    assert "secret" not in listed.text
    assert listed.text.startswith("a skill")


@pytest.mark.parametrize(
    "found", [*BACKENDS, pytest.param(PLAIN, marks=pytest.mark.skipif(not PLAIN.usable, reason=PLAIN.reason))]
)
def test_shell_refuses_a_working_directory_that_leads_elsewhere_or_is_gone(
    context: Callable[..., ToolContext], found: Probe, tmp_path: Path
) -> None:
    call, tool = context(), pinned(found)
    outside = tmp_path / "outside"
    outside.mkdir()
    call.working_directory.rename(tmp_path / "moved")
    with pytest.raises(ToolError, match="is gone"):
        tool.run({"command": "touch ran"}, call)
    for target in (outside, Path("outside")):
        call.working_directory.symlink_to(target)
        with pytest.raises(ToolError, match="was replaced by a link"):
            tool.run({"command": "touch ran"}, call)
        call.working_directory.unlink()
    assert list(outside.iterdir()) == []


@every_backend
def test_shell_kills_the_whole_tree_at_the_timeout(
    context: Callable[..., ToolContext], found: Probe, mark: str
) -> None:
    command = f"trap '' TERM; setsid sleep {mark} & wait; sleep 100"
    outcome = pinned(found).run({"command": command, "timeout_ms": 600}, context())
    assert "600 ms" in outcome.text
    assert not processes_marked(mark)


@every_backend
def test_shell_ends_what_runs_in_the_background_with_the_command(
    context: Callable[..., ToolContext], found: Probe, mark: str
) -> None:
    begun = time.monotonic()
    outcome = pinned(found).run({"command": f"setsid sleep {mark} & echo started"}, context())
    assert outcome.text == "started\n"
    assert eventually(lambda: not processes_marked(mark))
    assert time.monotonic() - begun < 60


@every_backend
def test_shell_describes_where_a_command_may_write_for_a_while(found: Probe) -> None:
    assert ("$TMPDIR" in pinned(found).description) is (found.backend is Backend.LANDLOCK)


@needs_landlock
@pytest.mark.parametrize("level", [Level.READ, Level.WORKSPACE])
def test_shell_gives_the_command_a_temporary_directory_that_goes_with_it(
    context: Callable[..., ToolContext], level: Level
) -> None:
    command = 'ls -A "$TMPDIR"; cd "$(mktemp -d)" && echo x > file && cat file; echo "$TMPDIR $TMP $TEMP"'
    outcome = pinned(ALONE).run({"command": command}, context(level))
    written, places = outcome.text.splitlines()
    assert written == "x"
    (place,) = set(places.split())
    assert eventually(lambda: not Path(place).exists())


@needs_landlock
def test_shell_removes_the_temporary_directory_when_its_greenlet_is_killed(
    context: Callable[..., ToolContext], mark: str
) -> None:
    call = context()
    command = f'touch "$TMPDIR/file"; echo "$TMPDIR" > place; exec sleep {mark}'
    calling = gevent.spawn(pinned(ALONE).run, {"command": command}, call)
    assert eventually(lambda: processes_marked(mark))
    place = Path((call.working_directory / "place").read_text().strip())
    assert (place / "file").exists()
    calling.kill()
    assert eventually(lambda: not place.exists())
    assert not processes_marked(mark)


SERVER = """
import dataclasses, sys
from pathlib import Path
from meka.agent.tools.sandbox import Sandbox, probe
from meka.agent.tools.shell import ShellTool
from meka.base.clock import SystemClock
from meka.config.model import SandboxBackend
from tests.fakes import make_context
context = dataclasses.replace(make_context(Path(sys.argv[1])), clock=SystemClock())
found = probe(SandboxBackend.LANDLOCK, minimum_abi=6)
ShellTool(Sandbox(True, found.backend, found)).run({"command": sys.argv[2]}, context)
"""


@needs_landlock
def test_shell_leaves_no_temporary_directory_behind_when_the_server_is_killed(
    tmp_path: Path, mark: str
) -> None:
    command = f'echo "$TMPDIR" > place; exec sleep {mark}'
    with subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), command]) as server:
        found = tmp_path / "work/place"
        assert eventually(lambda: found.exists() and found.read_text().endswith("\n"))
        place = Path(found.read_text().strip())
        assert place.is_dir()
        server.kill()
    assert eventually(lambda: not place.exists())
    assert not processes_marked(mark)


@needs_landlock
def test_shell_keeps_two_commands_out_of_each_others_temporary_directories(
    context: Callable[..., ToolContext], mark: str
) -> None:
    call, tool = context(), pinned(ALONE)
    command = f'echo secret > "$TMPDIR/file"; echo "$TMPDIR" > place; exec sleep {mark}'
    calling = gevent.spawn(tool.run, {"command": command}, call)
    assert eventually(lambda: processes_marked(mark))
    outcome = tool.run({"command": 'cat "$(cat place)/file"'}, call)
    calling.kill()
    assert outcome.is_error
    assert "secret" not in outcome.text


@pytest.mark.parametrize("backend", [Backend.LANDLOCK, Backend.BUBBLEWRAP_LANDLOCK])
@pytest.mark.parametrize("level", [Level.READ, Level.WORKSPACE])
def test_shell_fails_the_call_when_the_pinned_backend_needs_more_than_the_kernel_has(
    context: Callable[..., ToolContext], backend: Backend, level: Level
) -> None:
    found = probe(backend, minimum_abi=1000)
    call = context(level)
    with pytest.raises(ToolError) as raised:
        pinned(found).run({"command": "touch ran"}, call)
    assert str(raised.value) == f"the sandbox backend {backend} is not usable on this host: {found.reason}"
    assert not (call.working_directory / "ran").exists()


def test_shell_fails_the_call_with_the_abi_when_landlock_is_pinned_on_an_older_kernel(
    context: Callable[..., ToolContext],
) -> None:
    sandbox = build_sandbox(True, Backend.LANDLOCK)
    if not ALONE.usable or sandbox.found.usable:
        pytest.skip("this kernel has no Landlock with an ABI below 9")
    with pytest.raises(ToolError, match=r"landlock .* has ABI \d, and ABI 9 is needed"):
        ShellTool(sandbox).run({"command": "true"}, context(Level.READ))


@needs_landlock
def test_shell_says_so_when_the_launcher_failed(context: Callable[..., ToolContext]) -> None:
    refusing = dataclasses.replace(ALONE, launcher=(*ALONE.launcher[:-1], "1000"))
    with pytest.raises(ToolError, match="landlock failed: landlock: this kernel's Landlock has ABI"):
        pinned(refusing).run({"command": "true"}, context())


def test_directory_of_a_command_is_removed_with_what_it_made_read_only() -> None:
    base = tempfile.mkdtemp(prefix="meka-test-")
    try:
        made = Path(base, "own", "module", "deeper")
        made.mkdir(parents=True)
        (made / "file").write_text("x")
        (made / "up").symlink_to(base)
        nobody = 65534 if os.geteuid() == 0 else None
        for path in (Path(base), *Path(base).rglob("*")):
            if nobody is not None:
                os.chown(path, nobody, nobody, follow_symlinks=False)
        made.chmod(0)
        made.parent.chmod(0o555)
        source = Path(supervisor.__file__).read_text()
        # Root would not be kept from anything; the interpreter may lie where nobody else reads it.
        demote = "" if nobody is None else f"os.setgid({nobody}); os.setuid({nobody})"
        code = f"__name__ = 'tried'\n{source}\n{demote}\nremove_tree({str(Path(base, 'own'))!r})"
        subprocess.run([PYTHON, "-I", "-S", "-c", code], check=True, timeout=30)
        assert os.listdir(base) == []
    finally:
        supervisor.remove_tree(base)


def test_directory_of_a_command_is_removed_also_where_it_is_deeper_than_a_recursion_goes() -> None:
    base = tempfile.mkdtemp(prefix="meka-test-")
    descriptor = os.open(base, os.O_PATH)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_PATH, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    supervisor.remove_tree(base)
    assert not os.path.exists(base)

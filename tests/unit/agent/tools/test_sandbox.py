"""The sandbox: which level it allows, what bubblewrap is told, and what a real confined process can do."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from meka.agent.tools.bubblewrap import bubblewrap_arguments
from meka.agent.tools.confinement import Confinement
from meka.agent.tools.sandbox import Probe, Sandbox, allowed_environment, build_sandbox, first_usable, probe
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend

FOUND = probe(Backend.BUBBLEWRAP)
WORKS = Probe(Backend.BUBBLEWRAP, executable="/usr/bin/bwrap")
GONE = Probe(Backend.BUBBLEWRAP, reason="gone")
needs_bubblewrap = pytest.mark.skipif(not FOUND.usable, reason=f"no usable bubblewrap: {FOUND.reason}")


@pytest.mark.parametrize(
    ("sandbox", "level"),
    [
        (Sandbox(True, None, WORKS), Level.READ),
        (Sandbox(True, None, GONE), Level.UNRESTRICTED),
        (Sandbox(True, Backend.BUBBLEWRAP, GONE), Level.READ),
        (Sandbox(True, Backend.LANDLOCK, GONE), Level.READ),
        (Sandbox(False, None, WORKS), Level.UNRESTRICTED),
        (Sandbox(False, Backend.BUBBLEWRAP, WORKS), Level.UNRESTRICTED),
    ],
)
def test_sandbox_sets_the_level_of_the_shell(sandbox: Sandbox, level: Level) -> None:
    assert sandbox.shell_level is level


def test_probe_says_why_when_the_executable_is_missing() -> None:
    found = probe(Backend.BUBBLEWRAP, "no-such-bwrap")
    assert not found.usable
    assert "no-such-bwrap" in found.reason


def test_probe_says_why_when_the_backend_fails(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n")
    broken.chmod(0o755)
    assert probe(Backend.BUBBLEWRAP, str(broken)) == Probe(Backend.BUBBLEWRAP, reason="no namespaces here")


@pytest.mark.parametrize("backend", [Backend.LANDLOCK, Backend.BUBBLEWRAP_LANDLOCK])
def test_build_sandbox_falls_back_to_nothing_from_a_pinned_backend(backend: Backend) -> None:
    sandbox = build_sandbox(True, backend)
    assert sandbox.found.backend is backend
    assert sandbox.shell_level is Level.READ


@needs_bubblewrap
def test_first_usable_is_bubblewrap_where_it_works(caplog: pytest.LogCaptureFixture) -> None:
    assert first_usable(minimum_abi=1) == FOUND
    assert caplog.records == []


def test_first_usable_is_landlock_with_a_warning_where_bubblewrap_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    alone = probe(Backend.LANDLOCK, minimum_abi=1)
    if not alone.usable:
        pytest.skip(f"no usable Landlock: {alone.reason}")
    assert first_usable("no-such-bwrap", minimum_abi=1) == alone
    (warning,) = caplog.messages
    assert "no-such-bwrap" in warning
    assert "Landlock alone" in warning


def test_first_usable_says_why_of_each_backend_where_none_works(caplog: pytest.LogCaptureFixture) -> None:
    found = first_usable("no-such-bwrap", minimum_abi=1000)
    assert not found.usable
    assert "no-such-bwrap" in found.reason
    assert "landlock: " in found.reason
    assert caplog.records == []


def test_build_sandbox_tries_nothing_when_switched_off() -> None:
    assert not build_sandbox(False).found.usable


def test_allowed_environment_drops_what_may_be_secret() -> None:
    given = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_X": "1",
        "https_proxy": "p",
        "AWS_SECRET": "s",
        "LD_PRELOAD": "l",
    }
    assert allowed_environment(given) == {"PATH": "/bin", "LC_ALL": "C", "XDG_X": "1", "https_proxy": "p"}


@pytest.mark.parametrize("root", ["/", "/proc", "/dev", "/sys", "/run", "/tmp", "/var/tmp"])
def test_bubblewrap_arguments_never_bind_a_system_directory(root: str) -> None:
    held = Confinement(Path("/"), writable=(Path(root),), visible=(Path(root),), masked=(), unmasked=())
    assert "--bind" not in bubblewrap_arguments("bwrap", held, ("true",))


def test_bubblewrap_arguments_cover_private_directories_last(tmp_path: Path) -> None:
    skills = tmp_path / "config" / "skills"
    skills.mkdir(parents=True)
    private = skills.parent
    held = Confinement(tmp_path, (tmp_path,), (tmp_path,), (private,), (skills,))
    arguments = bubblewrap_arguments("bwrap", held, ("true",))
    bind, mask, show = (
        arguments.index(option, arguments.index("--bind") if option != "--bind" else 0)
        for option in ("--bind", "--tmpfs", "--ro-bind")
    )
    assert bind < mask < show
    assert arguments[mask + 1] == str(private)
    assert arguments[show + 1] == str(skills)


@pytest.fixture
def held(tmp_path: Path) -> Confinement:
    for name in ("work", "beside", "work/data", "work/config/skills"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/data/meka.db").write_text("secret")
    (tmp_path / "work/config/skills/SKILL.md").write_text("a skill")
    work = tmp_path / "work"
    return Confinement(work, (work,), (work,), (work / "data", work / "config"), (work / "config/skills",))


def run_confined(held: Confinement, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    assert FOUND.executable
    arguments = bubblewrap_arguments(FOUND.executable, held, argv)
    return subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=False)


@needs_bubblewrap
def test_confined_process_writes_inside_its_root_only(held: Confinement) -> None:
    assert run_confined(held, ("touch", "inside")).returncode == 0
    assert (held.directory / "inside").exists()
    assert run_confined(held, ("touch", "/usr/outside")).returncode != 0
    assert not Path("/usr/outside").exists()


@needs_bubblewrap
def test_confined_process_sees_an_empty_tmp_of_its_own(held: Confinement) -> None:
    beside = held.directory.parent / "beside" / "file"
    beside.write_text("x")
    if not beside.is_relative_to("/tmp"):
        pytest.skip("the temporary directory of this run is not /tmp")
    assert run_confined(held, ("cat", str(beside))).returncode != 0
    assert run_confined(held, ("touch", "/tmp/of-the-sandbox")).returncode == 0
    assert not Path("/tmp/of-the-sandbox").exists()


@needs_bubblewrap
def test_confined_process_never_sees_private_directories(held: Confinement) -> None:
    assert run_confined(held, ("cat", "data/meka.db")).returncode != 0
    assert run_confined(held, ("ls", "-A", "config")).stdout == "skills\n"
    assert run_confined(held, ("cat", "config/skills/SKILL.md")).stdout == "a skill"
    assert run_confined(held, ("touch", "config/skills/new")).returncode != 0


@needs_bubblewrap
def test_confined_process_can_read_a_resolver_file_that_lies_in_a_covered_place(
    held: Confinement, tmp_path: Path
) -> None:
    if not tmp_path.is_relative_to("/tmp"):
        pytest.skip("the temporary directory of this run is not /tmp")
    (tmp_path / "beside/stub.conf").write_text("nameserver 127.0.0.53")
    link = tmp_path / "resolv.conf"
    link.symlink_to(tmp_path / "beside/stub.conf")
    assert FOUND.executable
    read = ("cat", str(tmp_path / "beside/stub.conf"))
    arguments = bubblewrap_arguments(FOUND.executable, held, read, resolver=link)
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "nameserver 127.0.0.53"


@needs_bubblewrap
def test_confined_process_cannot_lift_the_read_only_mount(held: Confinement) -> None:
    lift = "mount -o remount,rw,bind / ; umount data; touch /usr/outside; cat data/meka.db"
    done = run_confined(held, ("sh", "-c", lift))
    assert done.returncode != 0
    assert "secret" not in done.stdout
    assert not Path("/usr/outside").exists()


@needs_bubblewrap
def test_confined_process_sees_no_process_of_the_host(held: Confinement) -> None:
    listed = run_confined(held, ("sh", "-c", "ls -d /proc/[0-9]* | wc -l"))
    assert int(listed.stdout) < 10


@needs_bubblewrap
def test_confined_process_can_read_what_it_needs_to_start_where_it_was_covered(held: Confinement) -> None:
    for name in ("data/python", "../beside"):
        (held.directory / name).mkdir(exist_ok=True)
        (held.directory / name / "file").write_text("needed")
    needed = (held.directory / "data/python", held.directory.parent / "beside", held.directory / "config")
    assert FOUND.executable
    line = "cat data/python/file ../beside/file; cat data/meka.db; touch data/python/new; ls -A config"
    arguments = bubblewrap_arguments(FOUND.executable, held, ("sh", "-c", line), needed=needed)
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "neededneededskills\n"
    assert not (held.directory / "data/python/new").exists()

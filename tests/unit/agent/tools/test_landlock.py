"""What a process that Landlock holds can do: alone, inside bubblewrap, and by the rules of the second wall.

The rules are tried with the rights that this kernel has, which may be fewer than the server asks for.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from meka.agent.tools import landlock_entry
from meka.agent.tools.confinement import Confinement
from meka.agent.tools.landlock import landlock_launcher, rules_alone, rules_inside_bubblewrap
from meka.agent.tools.landlock_entry import LandlockError, handled_rights, require_abi, spread
from meka.agent.tools.sandbox import Probe, build_sandbox, confined_command, probe
from meka.config.model import SandboxBackend as Backend

SCOPES = 6
"""The ABI that keeps signals and abstract sockets inside."""
ALONE = probe(Backend.LANDLOCK, minimum_abi=SCOPES)
INSIDE = probe(Backend.BUBBLEWRAP_LANDLOCK)
PLAIN = probe(Backend.BUBBLEWRAP)
PYTHON = os.path.realpath(sys.executable)
needs_landlock = pytest.mark.skipif(not ALONE.usable, reason=f"no usable Landlock: {ALONE.reason}")
BACKENDS = [
    pytest.param(ALONE, marks=needs_landlock, id="alone"),
    pytest.param(
        INSIDE,
        marks=pytest.mark.skipif(not INSIDE.usable, reason=f"not usable: {INSIDE.reason}"),
        id="inside-bubblewrap",
    ),
]
every_backend = pytest.mark.parametrize("found", BACKENDS)


@pytest.fixture
def held(tmp_path: Path) -> Confinement:
    """A root that holds meka's own directories, another directory beside it, and a temporary one."""
    base = tmp_path.resolve()
    for name in ("beside", "own", "work/in", "work/data", "work/config/skills"):
        (base / name).mkdir(parents=True)
    (base / "beside/file").write_text("beside")
    (base / "work/data/meka.db").write_text("secret")
    (base / "work/config/config.toml").write_text("secret")
    (base / "work/config/skills/SKILL.md").write_text("a skill")
    (base / "work/in/file").write_text("inside")
    work = base / "work"
    masked = (work / "data", work / "config")
    return Confinement(work, (work,), (work,), masked, (work / "config/skills",), temporary=base / "own")


def reading(held: Confinement) -> Confinement:
    return Confinement(held.directory, (), held.visible, held.masked, held.unmasked, held.temporary)


def run_argv(argv: Sequence[str], directory: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=30, check=False, cwd=directory, env=environment
    )


def run(found: Probe, held: Confinement, *argv: str) -> subprocess.CompletedProcess[str]:
    return run_argv(confined_command(found, held, argv), held.directory)


def run_code(found: Probe, held: Confinement, code: str, *given: str) -> subprocess.CompletedProcess[str]:
    return run(found, held, PYTHON, "-I", "-S", "-c", code, *given)


@every_backend
def test_held_process_writes_inside_its_root_only(found: Probe, held: Confinement) -> None:
    assert run(found, held, "touch", "in/new").returncode == 0
    assert (held.directory / "in/new").exists()
    for outside in ("/usr/outside", str(held.directory.parent / "beside/outside"), "/etc/outside"):
        assert run(found, held, "touch", outside).returncode != 0
        assert not Path(outside).exists()


@every_backend
def test_held_process_writes_nowhere_at_read(found: Probe, held: Confinement) -> None:
    done = run(
        found, reading(held), "sh", "-c", "cat in/file; echo more >> in/file; touch in/new; rm in/file"
    )
    assert done.stdout == "inside"
    assert done.returncode != 0
    assert [path.read_text() for path in (held.directory / "in").iterdir()] == ["inside"]


@every_backend
@pytest.mark.parametrize("name", ["data/meka.db", "config/config.toml"])
def test_held_process_never_reads_private_directories(found: Probe, held: Confinement, name: str) -> None:
    for confinement in (held, reading(held)):
        done = run(found, confinement, "cat", name)
        assert (done.returncode != 0, done.stdout) == (True, "")
    assert run(found, held, "ls", "-A", os.path.dirname(name)).stdout in ("", "skills\n")
    run(found, held, "sh", "-c", f"rm -rf {os.path.dirname(name)}; echo x > {name}")
    assert (held.directory / name).read_text() == "secret"


@every_backend
def test_held_process_reads_what_is_unmasked(found: Probe, held: Confinement) -> None:
    assert run(found, held, "cat", "config/skills/SKILL.md").stdout == "a skill"
    assert run(found, held, "touch", "config/skills/new").returncode != 0
    assert not (held.directory / "config/skills/new").exists()


@every_backend
def test_held_process_cannot_truncate_outside(found: Probe, held: Confinement) -> None:
    outside = held.directory.parent / "beside/file"
    assert run_code(found, held, "import os, sys; os.truncate(sys.argv[1], 0)", str(outside)).returncode != 0
    assert outside.read_text() == "beside"
    assert run_code(found, held, "import os; os.truncate('in/file', 0)").returncode == 0
    assert (held.directory / "in/file").read_text() == ""


@every_backend
@pytest.mark.parametrize("operation", ["rename", "link"])
def test_held_process_moves_files_inside_its_root_only(
    found: Probe, held: Confinement, operation: str
) -> None:
    (held.directory / "other").mkdir()
    code = f"import os, sys; os.{operation}(*sys.argv[1:])"
    inside, outside = held.directory / "in/file", held.directory.parent / "beside/file"
    assert run_code(found, held, code, str(inside), str(outside.with_name("moved"))).returncode != 0
    assert run_code(found, held, code, str(outside), str(inside.with_name("moved"))).returncode != 0
    assert (inside.exists(), outside.exists()) == (True, True)
    assert run_code(found, held, code, str(inside), str(held.directory / "other/moved")).returncode == 0
    assert (held.directory / "other/moved").exists()


@every_backend
def test_held_process_signals_nothing_outside(found: Probe, held: Confinement) -> None:
    with subprocess.Popen(["sleep", "60"]) as outside:
        try:
            assert run(found, held, "sh", "-c", f"kill -TERM {outside.pid}").returncode != 0
            assert outside.poll() is None
        finally:
            outside.kill()
    assert run(found, held, "sh", "-c", "sleep 60 & kill $!; wait $!").returncode == 128 + signal.SIGTERM


@pytest.fixture
def abstract() -> Iterator[str]:
    name = f"meka-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        yield name


@every_backend
def test_held_process_reaches_no_abstract_socket_outside(
    found: Probe, held: Confinement, abstract: str
) -> None:
    dial = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])"
    refused = run_code(found, held, dial, abstract)
    assert "PermissionError" in refused.stderr
    assert run_argv((PYTHON, "-I", "-S", "-c", dial, abstract), held.directory).returncode == 0
    own = (
        "import socket; a = socket.socket(socket.AF_UNIX); a.bind('\\0meka-test-own'); a.listen()\n"
        "socket.socket(socket.AF_UNIX).connect('\\0meka-test-own')"
    )
    assert run_code(found, held, own).returncode == 0


@every_backend
def test_held_process_reaches_the_network(found: Probe, held: Confinement) -> None:
    dial = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert run_code(found, held, dial, str(listener.getsockname()[1])).returncode == 0


@every_backend
def test_held_process_uses_the_usual_devices(found: Probe, held: Confinement) -> None:
    line = "echo x > /dev/null && head -c 1 /dev/zero /dev/urandom > /dev/null && echo x > /dev/stderr"
    done = run(found, reading(held), "sh", "-c", line)
    assert (done.returncode, done.stderr) == (0, "x\n")


@every_backend
def test_held_process_gets_nothing_but_what_it_was_handed(found: Probe, held: Confinement) -> None:
    status = run(found, held, "cat", "/proc/self/status").stdout
    facts = dict(line.split(":\t", 1) for line in status.splitlines())
    assert facts["NoNewPrivs"] == "1"
    assert {facts[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}
    assert int(facts["SigIgn"], 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0
    given = [line.partition("=")[0] for line in run(found, held, "env").stdout.splitlines()]
    assert sorted({*given, "PWD"}) == ["PATH", "PWD"]
    assert run(found, held, "sh", "-c", "ls /proc/$$/fd").stdout.split() == ["0", "1", "2"]


@every_backend
def test_held_process_says_so_when_the_command_is_missing(found: Probe, held: Confinement) -> None:
    done = run(found, held, "/no/such/command")
    assert done.returncode == landlock_entry.FAILED
    assert done.stderr.startswith(landlock_entry.PREFIX)


@needs_landlock
def test_process_that_landlock_alone_holds_writes_into_its_temporary_directory(held: Confinement) -> None:
    assert held.temporary
    assert run(ALONE, reading(held), "mkdir", "-p", f"{held.temporary}/a/b").returncode == 0
    assert (held.temporary / "a/b").is_dir()


@needs_landlock
@pytest.mark.parametrize("place", ["/tmp", "/run", "/var/tmp", "/dev"])
def test_process_that_landlock_alone_holds_finds_shared_places_shut(held: Confinement, place: str) -> None:
    assert run(ALONE, held, "ls", place).returncode != 0
    assert run(ALONE, held, "touch", f"{place}/meka-test-outside").returncode != 0
    assert not Path(place, "meka-test-outside").exists()


@needs_landlock
def test_process_that_landlock_alone_holds_reads_the_rest_of_the_machine(held: Confinement) -> None:
    assert run(ALONE, reading(held), "cat", "/etc/passwd").stdout == Path("/etc/passwd").read_text()
    assert run(ALONE, reading(held), "ls", "/usr").returncode == 0


@needs_landlock
def test_process_that_landlock_alone_holds_cannot_look_into_processes_outside(held: Confinement) -> None:
    for name in ("environ", f"root{held.directory}/data/meka.db", "mem"):
        assert run(ALONE, held, "head", "-c", "1", f"/proc/{os.getpid()}/{name}").returncode != 0
    assert run(ALONE, held, "cat", "/proc/self/environ").returncode == 0


@needs_landlock
def test_process_that_landlock_alone_holds_makes_no_devices(held: Confinement) -> None:
    assert run(ALONE, held, "mknod", "in/disk", "b", "7", "0").returncode != 0
    assert run(ALONE, held, "mkfifo", "in/pipe").returncode == 0


@needs_landlock
def test_process_that_landlock_alone_holds_cannot_lift_it(held: Confinement) -> None:
    lift = "unshare -Urm sh -c 'mount --bind data in && cat in/meka.db'; umount /proc; cat data/meka.db"
    done = run(ALONE, held, "sh", "-c", lift)
    assert (done.returncode != 0, done.stdout) == (True, "")


@needs_landlock
def test_second_wall_holds_where_bubblewrap_covers_nothing(held: Confinement) -> None:
    launcher = landlock_launcher(SCOPES)

    def fails(confinement: Confinement, line: str) -> bool:
        argv = (*launcher, *rules_inside_bubblewrap(confinement, ()), "--", "sh", "-c", line)
        return run_argv(argv, held.directory).returncode != 0

    assert fails(reading(held), "cat data/meka.db")
    assert fails(reading(held), "cat config/config.toml")
    assert not fails(reading(held), "cat config/skills/SKILL.md")
    assert fails(reading(held), "touch /usr/outside")
    assert not fails(held, "touch new && echo x > new && mv new in")


@pytest.mark.skipif(not PLAIN.usable, reason=f"no usable bubblewrap: {PLAIN.reason}")
def test_bubblewrap_alone_leaves_abstract_sockets_open(held: Confinement, abstract: str) -> None:
    dial = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1])"
    assert run_code(PLAIN, held, dial, abstract).returncode == 0


@needs_landlock
@pytest.mark.parametrize("backend", [Backend.LANDLOCK, Backend.BUBBLEWRAP_LANDLOCK])
def test_probe_names_the_abi_it_found_and_the_one_it_needs(backend: Backend) -> None:
    if backend is Backend.BUBBLEWRAP_LANDLOCK and not PLAIN.usable:
        pytest.skip(f"no usable bubblewrap: {PLAIN.reason}")
    found = probe(backend, minimum_abi=1000)
    assert found == Probe(
        backend, reason=f"this kernel's Landlock has ABI {require_abi(1)}, and ABI 1000 is needed"
    )


@needs_landlock
def test_landlock_alone_needs_an_abi_that_covers_sockets_with_a_path() -> None:
    abi = require_abi(1)
    found = build_sandbox(True, Backend.LANDLOCK).found
    assert found.usable is (abi >= 9)
    assert found.usable or found.reason == f"this kernel's Landlock has ABI {abi}, and ABI 9 is needed"


def test_require_abi_refuses_what_no_kernel_has() -> None:
    with pytest.raises(LandlockError):
        require_abi(1000)


WITHOUT_LANDLOCK = """
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
refusal = 0x50000 | int(sys.argv[1])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, refusal), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(text)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
    sys.exit(3)
from meka.agent.tools.sandbox import probe
from meka.config.model import SandboxBackend
print(probe(SandboxBackend(sys.argv[2]), minimum_abi=1).reason)
"""
"""A process in which the call that makes a ruleset fails, by a filter, with the errno it is given."""


@pytest.mark.parametrize("backend", [Backend.LANDLOCK, Backend.BUBBLEWRAP_LANDLOCK])
@pytest.mark.parametrize(
    ("code", "said"), [(38, "has no Landlock"), (95, "switched off"), (1, "not permitted")]
)
def test_probe_says_so_when_the_kernel_has_no_landlock(backend: Backend, code: int, said: str) -> None:
    if backend is Backend.BUBBLEWRAP_LANDLOCK and not PLAIN.usable:
        pytest.skip(f"no usable bubblewrap: {PLAIN.reason}")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, str(code), backend],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 3:
        pytest.skip("this kernel filters no system calls")
    assert said in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("abi", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (7, 16), (9, 17), (12, 17)]
)
def test_handled_rights_are_all_that_an_abi_knows(abi: int, bits: int) -> None:
    assert handled_rights(abi) == (1 << bits) - 1


def test_spread_gives_a_path_itself_where_nothing_in_it_is_shut(tmp_path: Path) -> None:
    assert spread(str(tmp_path), {"/elsewhere", str(tmp_path)}) == [str(tmp_path)]


def test_spread_goes_around_what_is_shut(tmp_path: Path) -> None:
    for name in ("a/shut", "a/open", "a/shut-not", "b", "shut"):
        (tmp_path / name).mkdir(parents=True)
    shut = {str(tmp_path / name) for name in ("a/shut", "shut", "c/not/there")}
    opened = {str(tmp_path / name) for name in ("a/open", "a/shut-not", "b")}
    assert set(spread(str(tmp_path), shut)) == opened


def test_rules_alone_leave_out_roots_that_lie_in_a_private_directory(held: Confinement) -> None:
    inner = held.directory / "data/in"
    inner.mkdir()
    rules = rules_alone(Confinement(inner, (inner,), (inner,), held.masked, ()))
    assert str(inner) not in rules


MASKING = [
    pytest.param(
        PLAIN,
        marks=pytest.mark.skipif(not PLAIN.usable, reason=f"not usable: {PLAIN.reason}"),
        id="bubblewrap",
    ),
    *BACKENDS,
]


@pytest.mark.parametrize("found", MASKING)
def test_directory_that_leads_to_a_masked_one_cannot_be_moved(found: Probe, tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    masked = home / ".config" / "deeper" / "meka"
    masked.mkdir(parents=True)
    (masked / "config.toml").write_text("secret")
    (tmp_path / "own").mkdir()
    held = Confinement(home, (home,), (home,), (masked,), (), temporary=tmp_path.resolve() / "own")
    for name in (".config", ".config/deeper", ".config/deeper/meka"):
        line = f"mv {name} moved || mv {name} .config/moved; find . -name config.toml -exec cat {{}} +"
        done = subprocess.run(
            confined_command(found, held, ("sh", "-c", line)),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert "secret" not in done.stdout
        assert (masked / "config.toml").read_text() == "secret"


@pytest.mark.parametrize("found", MASKING)
def test_write_to_a_masked_directory_is_refused_and_not_lost(found: Probe, held: Confinement) -> None:
    line = "echo a > config/config.toml && echo done"
    command = confined_command(found, held, ("sh", "-c", line))
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode == 0, done.stdout) == (False, "")
    assert (held.directory / "config/config.toml").read_text() == "secret"


@pytest.mark.parametrize("found", MASKING)
def test_root_that_became_a_link_is_not_opened(found: Probe, held: Confinement) -> None:
    """The tool refuses it; here it became one between the look and the command."""
    outside = held.directory.parent / "beside"
    root = held.directory / "sub"
    root.symlink_to(outside)
    replaced = Confinement(held.directory, (root,), (root,), (), (), held.temporary)
    for name in (f"{outside}/new", f"{root}/new"):
        command = confined_command(found, replaced, ("touch", name))
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
        assert done.returncode != 0
    assert os.listdir(outside) == ["file"]


OTHERS = "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_CORE, (0, 0))"
SYSTEM_V = """
import ctypes, sys
libc = ctypes.CDLL(None)
made = libc.shmget(0, 4096, 0o1600)
sys.exit(made != -1 and libc.shmctl(made, 0, None) == 0)
"""
needs_filter = pytest.mark.skipif(
    os.uname().machine not in landlock_entry.FILTERED_CALLS, reason="the filter does not know this processor"
)


@every_backend
@needs_filter
def test_held_process_changes_no_limits_of_processes_outside(found: Probe, held: Confinement) -> None:
    with subprocess.Popen(["sleep", "60"]) as outside:
        try:
            before = resource.prlimit(outside.pid, resource.RLIMIT_CORE)
            assert before != (0, 0)
            assert run_code(found, held, OTHERS, str(outside.pid)).returncode != 0
            assert resource.prlimit(outside.pid, resource.RLIMIT_CORE) == before
        finally:
            outside.kill()
    assert run_code(found, held, OTHERS, "0").returncode == 0
    assert run(found, held, "sh", "-c", "ulimit -c 0 && ulimit -c").stdout == "0\n"


@needs_landlock
@needs_filter
def test_process_that_landlock_alone_holds_reaches_no_system_v_memory(held: Confinement) -> None:
    assert run_code(ALONE, held, SYSTEM_V).returncode == 0

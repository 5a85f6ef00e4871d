"""What holds a shell command below `unrestricted`: bubblewrap, tried once at start, and few variables."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend

PROBE_SECONDS = 10
_RESOLVER = Path("/etc/resolv.conf")
"""Often a link into /run, which is covered; without what it leads to no name resolves."""
_PRIVATE_PLACES = (Path("/tmp"), Path("/run"), Path("/var/tmp"))  # noqa: S108
_UNUSABLE_ROOTS = frozenset(
    Path(name)
    for name in ("/", "/proc", "/dev", "/sys", "/run", "/tmp", "/var/tmp")  # noqa: S108
)
_NAMESPACES = (
    "--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-uts", "--unshare-ipc",
    "--unshare-cgroup-try", "--cap-drop", "ALL",
)  # fmt: skip
_KEPT_VARIABLES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "LANG", "TMPDIR", "TMP", "TEMP",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
})  # fmt: skip
_KEPT_PREFIXES = ("LC_", "XDG_")
_NO_LANDLOCK = "this server has no Landlock support; bubblewrap is the backend it knows"


@dataclass(frozen=True, slots=True)
class Probe:
    """What trying a backend showed: the `executable` that works, or the `reason` why none does."""

    backend: Backend
    executable: str | None = None
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether commands can be held."""
        return self.executable is not None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The `[shell]` settings with what the probe found."""

    enabled: bool
    pinned: Backend | None
    found: Probe

    @property
    def shell_level(self) -> Level:
        """The level a shell command needs: a pinned backend that is missing fails the call."""
        held = self.enabled and (self.found.usable or self.pinned is not None)
        return Level.READ if held else Level.UNRESTRICTED


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may touch. `writable`: the roots it may write to; `visible`: roots it may read."""

    directory: Path
    writable: tuple[Path, ...]
    visible: tuple[Path, ...]
    masked: tuple[Path, ...]
    unmasked: tuple[Path, ...]


def build_sandbox(enabled: bool, pinned: Backend | None = None) -> Sandbox:
    """The sandbox of this server; tries the backend once when `enabled`."""
    backend = pinned or Backend.BUBBLEWRAP
    if not enabled:
        return Sandbox(
            enabled=False, pinned=pinned, found=Probe(backend, reason="the sandbox is switched off")
        )
    return Sandbox(enabled=True, pinned=pinned, found=probe(backend))


def probe(backend: Backend, executable: str = "bwrap") -> Probe:
    """Run `true` inside the backend, with all that a real command is given."""
    if backend is not Backend.BUBBLEWRAP:
        return Probe(backend, reason=_NO_LANDLOCK)
    path = shutil.which(executable)
    if path is None:
        return Probe(backend, reason=f"no {executable} executable was found on PATH")
    everywhere = Confinement(directory=Path("/"), writable=(), visible=(), masked=(), unmasked=())
    return _try_bubblewrap(path, bubblewrap_arguments(path, everywhere, ("true",)))


def _try_bubblewrap(path: str, arguments: Sequence[str]) -> Probe:
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Probe(Backend.BUBBLEWRAP, reason=str(error))
    if done.returncode != 0:
        return Probe(Backend.BUBBLEWRAP, reason=done.stderr.decode("utf-8", "replace").strip())
    return Probe(Backend.BUBBLEWRAP, executable=os.path.abspath(path))


def bubblewrap_arguments(
    executable: str, held: Confinement, argv: Sequence[str], resolver: Path = _RESOLVER
) -> list[str]:
    """The command line that runs `argv` confined; meka's own directories are covered last."""
    private = [place for place in _private_places() if place.is_dir() and not place.is_symlink()]
    arguments = [executable, *_NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in private:
        arguments += ["--tmpfs", str(place)]
    for path in (*_usable(held.visible), resolver.resolve()):
        if path.exists() and any(path.is_relative_to(place) for place in private):
            arguments += ["--ro-bind", str(path), str(path)]
    for root in _usable(held.writable):
        arguments += ["--bind", str(root), str(root)]
    for directory in _existing(held.masked):
        arguments += ["--tmpfs", str(directory)]
    for directory in _existing(held.unmasked):
        arguments += ["--ro-bind", str(directory), str(directory)]
    return [*arguments, "--chdir", str(held.directory), "--", *argv]


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a confined command is given: none that could hold a secret of the server's."""
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }


def _usable(roots: Sequence[Path]) -> list[Path]:
    """The roots that may be bound: never a system directory, which would undo what was covered."""
    refused = _UNUSABLE_ROOTS | set(_private_places())
    return [root for root in _existing(roots) if root not in refused]


def _existing(directories: Sequence[Path]) -> list[Path]:
    return [directory for directory in map(Path.resolve, directories) if directory.is_dir()]


def _private_places() -> tuple[Path, ...]:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (*_PRIVATE_PLACES, Path(runtime)) if runtime and os.path.isabs(runtime) else _PRIVATE_PLACES

"""What holds a shell command below `unrestricted`: a backend, tried once at start, and few variables."""

import logging
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from meka.agent.tools.bubblewrap import bubblewrap_arguments, covered_places
from meka.agent.tools.confinement import Confinement
from meka.agent.tools.landlock import (
    interpreter_places,
    landlock_launcher,
    rules_alone,
    rules_inside_bubblewrap,
)
from meka.agent.tools.landlock_entry import PREFIX as LANDLOCK_PREFIX
from meka.base.levels import Level
from meka.config.model import SandboxBackend as Backend

LOG = logging.getLogger(__name__)

PROBE_SECONDS = 10
FAILURE_PREFIXES = ("bwrap: ", LANDLOCK_PREFIX)
"""What stderr begins with when a backend failed, and not the command."""
MINIMUM_ABI = {Backend.BUBBLEWRAP_LANDLOCK: 6, Backend.LANDLOCK: 9}
"""6 keeps signals and abstract sockets inside; 9 sockets with a path too, which bubblewrap mostly covers."""
_KEPT_VARIABLES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "LANG", "TMPDIR", "TMP", "TEMP",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
})  # fmt: skip
_KEPT_PREFIXES = ("LC_", "XDG_")
_TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")


@dataclass(frozen=True, slots=True)
class Probe:
    """What trying a backend showed: the `executable` that works, or the `reason` why none does.

    `launcher`: what locks itself in with Landlock, of the backends that do.
    """

    backend: Backend
    executable: str | None = None
    reason: str = ""
    launcher: tuple[str, ...] = ()

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


def build_sandbox(enabled: bool, pinned: Backend | None = None) -> Sandbox:
    """The sandbox of this server; tries the pinned backend, else those there are, once when `enabled`."""
    if not enabled:
        found = Probe(pinned or Backend.BUBBLEWRAP, reason="the sandbox is switched off")
        return Sandbox(enabled=False, pinned=pinned, found=found)
    return Sandbox(enabled=True, pinned=pinned, found=probe(pinned) if pinned else first_usable())


def first_usable(executable: str = "bwrap", minimum_abi: int | None = None) -> Probe:
    """bubblewrap, else Landlock with a warning, else why neither works."""
    found = probe(Backend.BUBBLEWRAP, executable)
    if found.usable:
        return found
    second = probe(Backend.LANDLOCK, minimum_abi=minimum_abi)
    if not second.usable:
        return replace(found, reason=f"{found.reason}; {Backend.LANDLOCK}: {second.reason}")
    LOG.warning("bubblewrap is not usable (%s): commands are confined by Landlock alone", found.reason)
    return second


def probe(backend: Backend, executable: str = "bwrap", minimum_abi: int | None = None) -> Probe:
    """Run `true` inside the backend, with all that a real command is given."""
    launcher: tuple[str, ...] = ()
    if backend is not Backend.BUBBLEWRAP:
        launcher = landlock_launcher(MINIMUM_ABI[backend] if minimum_abi is None else minimum_abi)
    path = launcher[0] if backend is Backend.LANDLOCK else shutil.which(executable)
    if path is None:
        return Probe(backend, reason=f"no {executable} executable was found on PATH")
    return _try(Probe(backend, executable=os.path.abspath(path), launcher=launcher))


def confined_command(found: Probe, held: Confinement, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` held by a backend that works."""
    if found.executable is None:
        raise ValueError(found.reason)
    if found.backend is Backend.LANDLOCK:
        return [*found.launcher, *rules_alone(held), "--", *argv]
    if found.backend is Backend.BUBBLEWRAP:
        return bubblewrap_arguments(found.executable, held, argv)
    locked = [*found.launcher, *rules_inside_bubblewrap(held, covered_places()), "--", *argv]
    return bubblewrap_arguments(found.executable, held, locked, needed=interpreter_places())


def allowed_environment(environment: Mapping[str, str], temporary: Path | None = None) -> dict[str, str]:
    """The variables a confined command is given: none that could hold a secret of the server's."""
    kept = {
        name: value
        for name, value in environment.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return kept if temporary is None else kept | dict.fromkeys(_TEMPORARY_VARIABLES, str(temporary))


def _try(candidate: Probe) -> Probe:
    try:
        if candidate.backend is Backend.LANDLOCK:
            with TemporaryDirectory(prefix="meka-") as temporary:
                done = _run_true(candidate, Path(temporary).resolve())
        else:
            done = _run_true(candidate)
    except (OSError, subprocess.SubprocessError) as error:
        return Probe(candidate.backend, reason=str(error))
    if done.returncode == 0:
        return candidate
    said = done.stderr.decode("utf-8", "replace").strip().removeprefix(LANDLOCK_PREFIX)
    return Probe(candidate.backend, reason=said or f"`true` ended with exit code {done.returncode}")


def _run_true(candidate: Probe, temporary: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    everywhere = Confinement(Path("/"), writable=(), visible=(), masked=(), unmasked=(), temporary=temporary)
    return subprocess.run(
        confined_command(candidate, everywhere, ("true",)),
        capture_output=True,
        timeout=PROBE_SECONDS,
        check=False,
        env=allowed_environment(os.environ, temporary),
    )

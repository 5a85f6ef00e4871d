"""What one command may touch, and the places that no command below `unrestricted` shares with the host."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESOLVER = Path("/etc/resolv.conf")
"""Often a link into /run, which is covered; without what it leads to no name resolves."""
_PRIVATE_PLACES = (Path("/tmp"), Path("/run"), Path("/var/tmp"))  # noqa: S108
_UNUSABLE_ROOTS = frozenset(
    Path(name)
    for name in ("/", "/proc", "/dev", "/sys", "/run", "/tmp", "/var/tmp")  # noqa: S108
)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may touch. `writable`: the roots it may write to; `visible`: roots it may read.

    `temporary`: a directory of its own, for the backend that cannot give it a /tmp.
    """

    directory: Path
    writable: tuple[Path, ...]
    visible: tuple[Path, ...]
    masked: tuple[Path, ...]
    unmasked: tuple[Path, ...]
    temporary: Path | None = None


def usable_roots(roots: Sequence[Path]) -> list[Path]:
    """The roots that may be opened: never a system directory, which would undo what was covered.

    Nor one that leads elsewhere: roots are canonical, and another command may put a link in the place of one.
    """
    refused = _UNUSABLE_ROOTS | set(private_places())
    return [root for root in roots if root not in refused and root.is_dir() and root.resolve() == root]


def existing_directories(directories: Iterable[Path]) -> list[Path]:
    """The canonical names of those that are there."""
    return [directory for directory in map(Path.resolve, directories) if directory.is_dir()]


def private_places() -> tuple[Path, ...]:
    """Where the processes of the host meet; a command has them empty, or not at all."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (*_PRIVATE_PLACES, Path(runtime)) if runtime and os.path.isabs(runtime) else _PRIVATE_PLACES


def is_within_any(path: Path, directories: Iterable[Path]) -> bool:
    """Whether a path is one of the directories or lies below one."""
    return any(path.is_relative_to(directory) for directory in directories)

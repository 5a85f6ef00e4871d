"""What `landlock_entry` is told for one command: alone, or inside bubblewrap as the second wall."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from meka.agent.tools import landlock_entry
from meka.agent.tools.confinement import (
    RESOLVER,
    Confinement,
    existing_directories,
    is_within_any,
    private_places,
    usable_roots,
)

_DEVICES = tuple(Path("/dev") / name for name in ("null", "zero", "full", "random", "urandom", "tty"))
"""No terminals and no shared memory: those of the host are the only ones there."""


def landlock_launcher(minimum_abi: int) -> tuple[str, ...]:
    """The interpreter that locks itself in: rules, `--` and a command follow.

    It is handed its program as text: the file may lie where the sandbox covers it, or where an earlier
    command could write.
    """
    source = Path(landlock_entry.__file__).read_text(encoding="utf-8")
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", source, str(minimum_abi))


def interpreter_places() -> tuple[Path, ...]:
    """The directories that the launcher's interpreter is read from."""
    return (Path(os.path.realpath(sys.executable)).parent, Path(sys.base_prefix), Path(sys.base_exec_prefix))


def rules_alone(held: Confinement) -> list[str]:
    """The rules when Landlock is the only wall.

    /dev is shut too, for a server that runs as root: what it may read of a disk's device are all files of it.
    """
    masked = [path.resolve() for path in held.masked]
    shut = [*masked, *(place.resolve() for place in private_places()), Path("/dev")]
    readable = [root for root in usable_roots(held.visible) if not is_within_any(root, masked)]
    writable = [root for root in usable_roots(held.writable) if not is_within_any(root, masked)]
    return [
        *_rules("shut", shut),
        *_rules("read", (Path("/"), *readable, RESOLVER.resolve(), *existing_directories(held.unmasked))),
        *_rules("write", writable),
        *_rules("own", [held.temporary] if held.temporary else []),
        *_rules("device", _DEVICES),
        "calls",
        "",
    ]


def rules_inside_bubblewrap(held: Confinement, private: Sequence[Path]) -> list[str]:
    """The rules of the second wall; `private` are the places that bubblewrap laid an empty file system over.

    There are empty directories over the masked ones. So names may be listed everywhere, and a root
    is given whole even when it holds a masked directory: files may be made in it anywhere.
    """
    masked = existing_directories(held.masked)
    own = [root for root in usable_roots(held.writable) if not is_within_any(root, masked)]
    return [
        *_rules("shut", masked),
        *_rules("read", (Path("/"), *existing_directories(held.unmasked))),
        *_rules("list", [Path("/")]),
        *_rules("own", (*private, Path("/dev"), *own)),
        *_rules("device", (Path("/dev"), Path("/proc"))),
    ]


def _rules(kind: str, paths: Iterable[Path]) -> list[str]:
    return [part for path in paths for part in (kind, str(path))]

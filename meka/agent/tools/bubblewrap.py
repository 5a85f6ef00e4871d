"""The command line of bubblewrap for one command."""

from collections.abc import Sequence
from pathlib import Path

from meka.agent.tools.confinement import (
    RESOLVER,
    Confinement,
    existing_directories,
    is_within_any,
    private_places,
    usable_roots,
)

_NAMESPACES = (
    "--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-uts", "--unshare-ipc",
    "--unshare-cgroup-try", "--cap-drop", "ALL",
)  # fmt: skip


def bubblewrap_arguments(
    executable: str,
    held: Confinement,
    argv: Sequence[str],
    *,
    resolver: Path = RESOLVER,
    needed: Sequence[Path] = (),
) -> list[str]:
    """The command line that runs `argv` confined; meka's own directories are covered last.

    `needed`: directories that `argv` cannot start without, shown again where they were covered.
    """
    private = covered_places()
    arguments = [executable, *_NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in private:
        arguments += ["--tmpfs", str(place)]
    shown = usable_roots(held.visible)
    for path in (*shown, resolver.resolve()):
        if path.exists() and is_within_any(path, private):
            arguments += ["--ro-bind", str(path), str(path)]
    writable = usable_roots(held.writable)
    masked = existing_directories(held.masked)
    for directory in (*writable, *_on_the_way(writable, masked)):
        arguments += ["--bind", str(directory), str(directory)]
    for directory in masked:
        arguments += ["--tmpfs", str(directory)]
    for directory in existing_directories(held.unmasked):
        arguments += ["--ro-bind", str(directory), str(directory)]
    for directory in _hidden(needed, private, shown, masked):
        arguments += ["--ro-bind", str(directory), str(directory)]
    for directory in masked:
        # What is written there is refused, not lost.
        arguments += ["--remount-ro", str(directory)]
    return [*arguments, "--chdir", str(held.directory), "--", *argv]


def _on_the_way(roots: Sequence[Path], masked: Sequence[Path]) -> list[Path]:
    """The directories between a root and a masked one, outermost first.

    Each is bound onto itself: what is a mount point cannot be renamed, and what lies in a directory that was
    moved away would be covered no more.
    """
    between = {
        parent
        for directory in masked
        for root in roots
        for parent in directory.parents
        if parent != root and parent.is_relative_to(root)
    }
    return sorted(between, key=lambda path: len(path.parts))


def covered_places() -> list[Path]:
    """The private places that an empty file system is laid over."""
    return [place for place in private_places() if place.is_dir() and not place.is_symlink()]


def _hidden(
    needed: Sequence[Path], private: Sequence[Path], shown: Sequence[Path], masked: Sequence[Path]
) -> list[Path]:
    """The needed directories that would be missing; never a masked one itself."""
    return [
        path for path in existing_directories(needed)
        if path not in masked
        and (is_within_any(path, masked) or (is_within_any(path, private) and not is_within_any(path, shown)))
    ]  # fmt: skip

"""meka's own directories, watched: one that was moved away would be covered no more."""

import os
from collections.abc import Iterable
from pathlib import Path


class PrivateDirectories:
    """Knows each directory by its identity on the disk, from when it is first seen."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = tuple(paths)
        self._seen: dict[Path, tuple[int, int]] = {}
        self.find_displaced()

    def find_displaced(self) -> Path | None:
        """One that no longer stands where it stood; what never existed may come. Looks at the disk."""
        for path in self.paths:
            identity = _identity(path)
            if identity is not None:
                self._seen.setdefault(path, identity)
            if identity != self._seen.get(path):
                return path
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino

"""Path arguments: made canonical, checked against the level's rules, and named in sentences when refused."""

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.confined import NotRegularError, ReadRule, is_within, names_process
from meka.base.levels import Level
from meka.base.text import one_line

FILE_PATH: Mapping[str, Any] = {
    "type": "string",
    "description": "The file; a relative path starts at the working directory",
}
"""The schema of the argument that names one file."""

_REASONS = {
    errno.ENOENT: "no such file or directory",
    errno.EISDIR: "is a directory, not a file",
    errno.ENOTDIR: "leads through something that is not a directory, or was swapped for a link",
    errno.ELOOP: "is a symbolic link that leads nowhere, or was swapped in",
}


@dataclass(frozen=True, slots=True)
class PathRules:
    """What one call may touch; taken once from its context, so that a native thread can apply it."""

    working_directory: Path
    roots: tuple[Path, ...]
    private_dirs: tuple[Path, ...]
    readable_private: tuple[Path, ...]
    find_displaced: Callable[[], Path | None]
    unrestricted: bool

    @property
    def read_rule(self) -> ReadRule:
        """The rule for canonical paths. Looks at the disk."""
        return ReadRule(_canonical(self.private_dirs), _canonical(self.readable_private), self.unrestricted)

    def resolve_to_read(self, argument: str) -> Path:
        """The canonical path of `argument`. Raises: ToolError when this level may not read it."""
        path = self._resolve(argument)
        if not self.unrestricted:
            self.require_in_place()
        rule = self.read_rule
        lexical = os.path.normpath(self.working_directory / argument)
        if not rule.may_read(str(path)) or (not self.unrestricted and names_process(lexical)):
            raise ToolError(f"{shown(argument)} may not be read at this permission level")
        return path

    def resolve_to_write(self, argument: str) -> Path:
        """The canonical path of `argument`. Raises: ToolError when this level may not write it."""
        path = self._resolve(argument)
        if self.unrestricted:
            return path
        if self.read_rule.is_private(str(path)) or names_process(str(path)):
            raise ToolError(f"{shown(argument)} may not be written at this permission level")
        self.require_in_place()
        # As they were recorded, which is canonical: one that was replaced by a link leads elsewhere now.
        if not any(is_within(str(path), str(root)) for root in self.roots):
            roots = ", ".join(str(root) for root in self.roots) or "none"
            raise ToolError(f"{shown(argument)} is outside the writable roots: {roots}")
        return path

    def require_in_place(self) -> None:
        """Raises: ToolError when a root leads elsewhere, or a private directory could be found elsewhere."""
        for root in (self.working_directory, *self.roots):
            # Roots were recorded canonical.
            if os.path.realpath(root) != str(root):
                raise ToolError(
                    f"the directory {shown(root)} was replaced by a link, or lies behind one now; set the "
                    "session's working directory again"
                )
        displaced = self.find_displaced()
        if displaced is not None:
            raise ToolError(
                f"meka's own directory {shown(displaced)} was moved, replaced or removed while the server "
                "runs, so nothing keeps its files private; put it back, or restart the server"
            )

    def _resolve(self, argument: str) -> Path:
        if not argument or "\0" in argument:
            raise ToolError("the path is empty or holds a NUL character")
        try:
            return Path(os.path.realpath(self.working_directory / argument))
        except (OSError, ValueError) as error:
            raise ToolError(f"{shown(argument)} is not a usable path") from error


def rules_of(context: ToolContext) -> PathRules:
    """The rules at this moment; the level may change during a turn."""
    return PathRules(
        context.working_directory,
        context.roots,
        context.private_dirs,
        context.readable_private,
        context.find_displaced,
        context.level() is Level.UNRESTRICTED,
    )


def shown(path: str | Path) -> str:
    """A path as it stands in a sentence: one line, no control characters."""
    return one_line(str(path).encode("utf-8", "replace").decode())


def failure(error: OSError, path: str | Path) -> ToolError:
    """The sentence for the operating system's refusal, naming the path."""
    if isinstance(error, NotRegularError):
        return ToolError(f"{shown(path)} {error}")
    number = error.errno or 0
    return ToolError(f"{shown(path)}: {_REASONS.get(number) or os.strerror(number)}")


def _canonical(directories: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(os.path.realpath(directory) for directory in directories)

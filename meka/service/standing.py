"""The standing instructions of a session: those in force as it opens, and what its files say then."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from meka.config.instructions import read_files
from meka.service.in_force import InForce
from meka.store.sessions import SessionRow

LOG = logging.getLogger(__name__)


class SessionInstructions:
    """Reads them, a session at a time. `files`: `[instructions].files` as the process started on it."""

    def __init__(
        self,
        in_force: InForce,
        files: Sequence[str],
        environ: Mapping[str, str],
        run_blocking: Callable[..., Any],
    ) -> None:
        self._in_force = in_force
        self._files = files
        self._environ = environ
        self._run_blocking = run_blocking

    def read(self, row: SessionRow) -> str:
        """The text for a session that opens now; what cannot be read of it is warned of and left out."""
        standing = self._in_force.instructions.content
        if not self._files:
            return standing
        directory = Path(row.working_directory or "/")
        text, warnings = self._run_blocking(read_files, self._files, directory, self._environ)
        for warning in warnings:
            LOG.warning("%s", warning, extra={"session_id": row.id})
        return "\n\n".join(part for part in (standing.strip(), text) if part)

"""The installation as it is managed over HTTP: edits that are served at once, reloads, instructions.

Every write goes the same way: the file is locked, refused when it could not be served as it stands, changed,
saved, and read again whole. Whatever touches the disk runs in a thread.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from gevent.lock import BoundedSemaphore

from meka.base.clock import rfc3339
from meka.base.errors import ConfigurationError, StoreReadOnlyError
from meka.base.text import scrub
from meka.config.draft import Draft, open_draft
from meka.config.instructions import (
    InstructionSource,
    StandingInstructions,
    find_source,
    read_instructions,
    write_instructions,
)
from meka.config.load import LoadedConfig, parse_document, read_config_text, text_digest
from meka.config.reading import ConfigReader, restart_sections
from meka.service.in_force import InForce

LOG = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class Installation:
    """One instance a process; its writes follow one another."""

    def __init__(self, in_force: InForce, reader: ConfigReader, run_blocking: Callable[..., Any]) -> None:
        self.in_force = in_force
        self._reader = reader
        self._run_blocking = run_blocking
        self._turn = BoundedSemaphore(1)

    @property
    def served_profile(self) -> str | None:
        """The profile that the server was started with (`--profile`), if any."""
        return self._reader.options.flags.profile

    @contextmanager
    def editing(self) -> Iterator[Draft]:
        """The file, locked against every other edit of ours. Raises: ConfigurationError."""
        with self._turn:
            opened = open_draft(self._reader.places.config_path)
            draft = self._run_blocking(opened.__enter__)
            try:
                self._run_blocking(self._reader.parse, draft.original)
                yield draft
            finally:
                self._run_blocking(opened.__exit__, None, None, None)

    def save(self, draft: Draft) -> None:
        """Put the changed file down. Raises: ConfigurationError, the file as it was."""
        self._run_blocking(draft.save, self._reader.parse)

    def undo(self, draft: Draft) -> None:
        """Put the file back as it was before `save`."""
        self._run_blocking(draft.undo)

    def serve_written(self) -> None:
        """Serve the file after a write, whatever else a shell has put into it meanwhile."""
        try:
            self._serve()
        except ConfigurationError as error:
            raise ConfigurationError(f"the change is written and not served: {error.detail}") from None

    def write(self, change: Callable[[Draft], Answer], commit: Callable[[], object] | None = None) -> Answer:
        """One write: `change` the draft, save it, `commit` what goes with it to the store, serve it.

        Raises: ConfigurationError; what `commit` raised, the file as it was.
        """
        with self.editing() as draft:
            answer = change(draft)
            self.save(draft)
            try:
                if commit is not None:
                    commit()
            except BaseException:
                self.undo(draft)
                raise
            self.serve_written()
        return answer

    def amend(self, change: Callable[[Draft], Answer]) -> Answer:
        """A write that nobody asked for: it counts as read, and serves nothing else that a shell changed.

        Raises: ConfigurationError.
        """
        with self.editing() as draft:
            was_served = text_digest(draft.original) == self.in_force.loaded.digest
            answer = change(draft)
            self.save(draft)
            if was_served and draft.text != draft.original:
                loaded = self._run_blocking(self._reader.parse, draft.text)
                self.in_force.put(loaded, self.in_force.instructions)
        return answer

    def _serve(self) -> None:
        loaded: LoadedConfig = self._run_blocking(self._reader.read)
        new = [warning for warning in loaded.warnings if warning not in self.in_force.loaded.warnings]
        for warning in new:
            LOG.warning("%s", warning)
        self.in_force.put(loaded, self._run_blocking(self._read_instructions))

    def _read_instructions(self) -> StandingInstructions:
        """What the sources say now; the text in force, when they cannot be read."""
        options = self._reader.options
        try:
            return read_instructions(self._reader.places, options.environ, options.instructions)
        except ConfigurationError as error:
            LOG.warning("%s; the instructions in force stay", error.detail)
            return self.in_force.instructions

    def reload(self) -> dict[str, Any]:
        """Read the file again and serve it. Raises: ConfigurationError naming what is wrong with it."""
        with self._turn:
            self._serve()
        served = self.in_force
        return {
            "config_loaded_at": rfc3339(served.loaded_at),
            "restart_required": restart_sections(served.started.document, served.loaded.document),
            # No MCP servers are run by this version.
            "started": [],
            "restarted": [],
            "reconfigured": [],
            "removed": [],
        }

    def state(self) -> dict[str, Any]:
        """Where the file is, and whether what it says is in force."""
        found: dict[str, Any] = self._run_blocking(self._look_at_file)
        return {
            "config_path": str(self._reader.places.config_path),
            "data_dir": str(self._reader.places.data_dir),
            "config_loaded_at": rfc3339(self.in_force.loaded_at),
            **found,
        }

    def _look_at_file(self) -> dict[str, Any]:
        path = self._reader.places.config_path
        found = _modified_at(path)
        try:
            text = read_config_text(path)
        except ConfigurationError:
            return {**found, "config_changed": True, "restart_required": []}
        changed = text_digest(text) != self.in_force.loaded.digest
        return {**found, "config_changed": changed, "restart_required": self._restart_required(text, path)}

    def _restart_required(self, text: str, path: Path) -> list[str]:
        try:
            return restart_sections(self.in_force.started.document, parse_document(text, path))
        except ConfigurationError:
            return []

    def instructions(self, *, in_detail: bool) -> dict[str, Any]:
        """The standing instructions in force; `in_detail` says where they come from too."""
        standing = self.in_force.instructions
        body: dict[str, Any] = {"writable": standing.writable}
        if standing.content.strip():
            body["content"] = standing.content
        if in_detail:
            body["source"] = standing.source.value
            if standing.path is not None:
                body["path"] = str(standing.path)
        return body

    def write_instructions(self, content: str) -> None:
        """Write instructions.md and serve it. Raises: StoreReadOnlyError, ConfigurationError."""
        with self.editing():
            self._run_blocking(self._write_instructions, scrub(content))
            self.serve_written()

    def _write_instructions(self, content: str) -> None:
        places, options = self._reader.places, self._reader.options
        source = find_source(places, options.environ, options.instructions)
        if source is not InstructionSource.OWN_FILE:
            raise StoreReadOnlyError(
                f"the instructions come from {source}, which stands above {places.instructions_file.name}"
            )
        write_instructions(places, content)


def _modified_at(path: Path) -> dict[str, str]:
    try:
        return {"config_modified_at": rfc3339(datetime.fromtimestamp(path.stat().st_mtime, UTC))}
    except OSError:
        return {}

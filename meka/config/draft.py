"""config.toml opened for an edit: locked across processes, changed in place, put down whole or not at all."""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from meka.base.errors import ConfigurationError
from meka.config import rewrite
from meka.config.decode import RefusedKeyError, decode, refusal_sentence
from meka.config.load import parse_document, read_config_text
from meka.config.model import Config
from meka.config.outline import KeyPath
from meka.config.rewrite import TomlValue

LOCK_WAIT_SECONDS = 10.0
SECTIONS = ("default_profile", "accounts", "profiles")
"""The order in which the sections that we add stand in a file; all others come after."""

_CATALOG_KEYS = frozenset({*SECTIONS, "thinking", "session"})


class Draft:
    """The file's text and what it means, changed together; `save` puts it down.

    Made by `open_draft`, and good while its lock is held.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.original = text
        self._existed = path.exists()
        self._document = parse_document(text, path)

    @property
    def default_profile(self) -> str | None:
        """The key as the file states it."""
        value = self._document.get("default_profile")
        return value if isinstance(value, str) else None

    def section(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """The tables of `accounts` or `profiles`, unchecked within. Raises: ConfigurationError."""
        tables = self._document.get(name, {})
        if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
            raise ConfigurationError(f"{self.path}: [{name}] must hold one table a name")
        return tables

    def catalog(self) -> Config:
        """Accounts, profiles and what they fall back to, checked key by key. Raises: ConfigurationError."""
        part = {key: value for key, value in self._document.items() if key in _CATALOG_KEYS}
        try:
            return decode(Config, part, ())
        except RefusedKeyError as refusal:
            raise ConfigurationError(refusal_sentence(refusal, self.text, self.path)) from None

    def add_table(self, path: KeyPath, values: Mapping[str, TomlValue]) -> None:
        """A new table `[section.name]`."""
        self.text = rewrite.add_table(self.text, path, values, SECTIONS)
        self._table(path[:-1], create=True)[path[-1]] = {key: _plain(value) for key, value in values.items()}

    def set(self, path: KeyPath, value: TomlValue, order: Sequence[str] = ()) -> None:
        """A value at `path`; a new key goes where `order` puts it."""
        self.text = rewrite.set_value(self.text, path, value, order)
        self._table(path[:-1])[path[-1]] = _plain(value)

    def remove(self, path: KeyPath) -> None:
        """Nothing at `path` any more."""
        self.text = rewrite.remove_path(self.text, path)
        del self._table(path[:-1])[path[-1]]

    def rename(self, path: KeyPath, name: str) -> None:
        """Another name for the key at `path`."""
        self.text = rewrite.rename_key(self.text, path, name)
        table = self._table(path[:-1])
        table[name] = table.pop(path[-1])

    def _table(self, path: KeyPath, *, create: bool = False) -> Any:
        table: Any = self._document
        for key in path:
            table = table.setdefault(key, {}) if create else table[key]
        return table

    def save(self, check: Callable[[str], object] | None = None) -> None:
        """Put the text down, once `check` let it pass. Raises: ConfigurationError, the file as it was."""
        self._refuse_garbled()
        if check is not None:
            check(self.text)
        if self.text != self.original:
            write_text_durably(self.path, self.text)

    def undo(self) -> None:
        """Put the text back that `save` replaced (no file, where there was none).

        What another editor wrote since stays; then the change stays too. Raises: ConfigurationError.
        """
        if self.text == self.original or read_config_text(self.path) != self.text:
            return
        if self._existed:
            write_text_durably(self.path, self.original)
        else:
            self.path.unlink(missing_ok=True)
        self.text = self.original

    def _refuse_garbled(self) -> None:
        """An edit that would not read back as meant never reaches the disk."""
        try:
            reads_back = _without_empty(tomllib.loads(self.text)) == _without_empty(self._document)
        except ValueError:
            reads_back = False
        if not reads_back:
            raise ConfigurationError(
                f"{self.path} is written in a way this edit cannot keep; edit it by hand"
            )


def _plain(value: TomlValue) -> Any:
    return value if isinstance(value, str | bool | int) else list(value)


def _without_empty(document: Mapping[str, Any]) -> dict[str, Any]:
    return deepcopy({key: value for key, value in document.items() if value != {}})


@contextmanager
def open_draft(path: Path) -> Iterator[Draft]:
    """The file at `path`, locked against every other edit of ours until the block ends.

    Raises: ConfigurationError when it does not parse, cannot be read, or stays locked.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The server opens and closes a draft from different threads.
        lock = FileLock(
            target.with_name(f".{target.name}.lock"),
            timeout=LOCK_WAIT_SECONDS,
            mode=0o600,
            thread_local=False,
        )
        lock.acquire()
    except Timeout:
        raise ConfigurationError(f"{path} is being edited by another meka; try again") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be edited: {error.strerror}") from None
    try:
        yield Draft(target, read_config_text(target))
    finally:
        lock.release()


def write_text_durably(path: Path, text: str) -> None:
    """Replace the file at `path` durably: old text or new, never half. Raises: ConfigurationError."""
    try:
        temporary = _write_beside(path, text.encode("utf-8"))
        try:
            temporary.replace(path)
        except OSError:
            temporary.unlink()
            raise
        _sync_directory(path.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def _write_beside(path: Path, content: bytes) -> Path:
    temporary, descriptor = _create_beside(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                _keep_access(file.fileno(), path.stat())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        temporary.unlink()
        raise
    return temporary


def _keep_access(descriptor: int, before: os.stat_result) -> None:
    """Owner and group as far as they may be given, so that a save by root locks nobody out; and the mode."""
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(PermissionError):
            os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, before.st_mode & 0o777)


def _create_beside(path: Path) -> tuple[Path, int]:
    for sequence in count():
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{sequence}.tmp")
        with suppress(FileExistsError):
            return temporary, os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    raise AssertionError


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

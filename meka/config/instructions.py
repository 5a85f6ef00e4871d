"""The standing instructions: where they come from, which of the sources stands above, what they say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from meka.base.errors import ConfigurationError
from meka.config.draft import write_text_durably
from meka.config.places import Places, expand_home

MOST_FILES = 100


class InstructionSource(StrEnum):
    """Where the instructions in force come from, highest first."""

    FLAG = "--instructions"
    TEXT_VARIABLE = "MEKA_INSTRUCTIONS"
    FILE_VARIABLE = "MEKA_INSTRUCTIONS_FILE"
    DIRECTORY = "instructions/"
    OWN_FILE = "instructions.md"


@dataclass(frozen=True, slots=True)
class StandingInstructions:
    """The instructions a session opens under; `path` is the file or directory they were read from, if any."""

    content: str
    source: InstructionSource
    path: Path | None = None

    @property
    def writable(self) -> bool:
        """Whether a write of instructions.md would change what sessions see."""
        return self.source is InstructionSource.OWN_FILE


def read_instructions(
    places: Places, environ: Mapping[str, str], flag: str | None = None
) -> StandingInstructions:
    """The instructions of the highest source that is there. Raises: ConfigurationError."""
    source = find_source(places, environ, flag)
    if source is InstructionSource.FLAG:
        return StandingInstructions(flag or "", source)
    if source is InstructionSource.TEXT_VARIABLE:
        return StandingInstructions(environ[source], source)
    if source is InstructionSource.FILE_VARIABLE:
        path = Path(expand_home(environ[source], environ))
        return StandingInstructions(_read_path(path), source, path)
    if source is InstructionSource.DIRECTORY:
        return StandingInstructions(_read_path(places.instructions_dir), source, places.instructions_dir)
    return _read_own_file(places.instructions_file)


def find_source(places: Places, environ: Mapping[str, str], flag: str | None = None) -> InstructionSource:
    """The highest source that is there, whether or not it can be read. Raises: ConfigurationError."""
    text, file = environ.get("MEKA_INSTRUCTIONS"), environ.get("MEKA_INSTRUCTIONS_FILE")
    if text and file:
        raise ConfigurationError("MEKA_INSTRUCTIONS and MEKA_INSTRUCTIONS_FILE are both set; unset one")
    if flag is not None:
        return InstructionSource.FLAG
    if text or file:
        return InstructionSource.TEXT_VARIABLE if text else InstructionSource.FILE_VARIABLE
    if _markdown_files(places.instructions_dir):
        return InstructionSource.DIRECTORY
    return InstructionSource.OWN_FILE


def read_files(
    entries: Sequence[str], working_directory: Path, environ: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """What the entries of `[instructions].files` say to a session that opens in `working_directory`.

    Shape: the texts in order, a blank line between; a warning for each entry that cannot be read. One that is
    not there, or says nothing, is skipped.
    """
    texts: list[str] = []
    warnings: list[str] = []
    for entry in entries:
        try:
            text = _read_entry(working_directory / expand_home(entry, environ))
        except ConfigurationError as error:
            warnings.append(error.detail)
            continue
        if text.strip():
            texts.append(text.strip())
    return "\n\n".join(texts), tuple(warnings)


def _read_entry(path: Path) -> str:
    """Raises: ConfigurationError. What is neither file nor directory would keep a reader waiting."""
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise ConfigurationError(f"the instructions at {path} cannot be read: {reason}") from None
    if not (S_ISREG(kind) or S_ISDIR(kind)):
        raise ConfigurationError(f"the instructions at {path} are neither a file nor a directory")
    return _read_path(path)


def write_instructions(places: Places, content: str) -> None:
    """Put `content` into instructions.md; a blank one removes the file. Raises: ConfigurationError."""
    path = places.instructions_file
    try:
        if content.strip():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_text_durably(path, content)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be removed: {error.strerror}") from None


def _read_own_file(path: Path) -> StandingInstructions:
    content = _read_path(path) if path.exists() else ""
    return StandingInstructions(content, InstructionSource.OWN_FILE, path)


def _read_path(path: Path) -> str:
    """A file's text, or a directory's `*.md` in lexical order with a blank line between."""
    try:
        if path.is_dir():
            return "\n\n".join(file.read_text("utf-8").strip() for file in _markdown_files(path)[:MOST_FILES])
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"the instructions at {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the instructions at {path} are not UTF-8") from None


def _markdown_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(entry for entry in directory.iterdir() if entry.suffix == ".md" and entry.is_file())

"""What a command line says, as values that the composition root takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from meka.config.environment import Flags


class OutputFormat(StrEnum):
    """How a command answers: for a person, or as one JSON object."""

    PLAIN = "plain"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What stands above environment and file for whatever runs turns; None keeps what those say."""

    environ: Mapping[str, str] = field(repr=False)
    flags: Flags = field(default_factory=Flags)
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class ServeOptions(RunOptions):
    """`meka serve`."""

    bind: str | None = None


@dataclass(frozen=True, slots=True)
class OneshotOptions(RunOptions):
    """`meka --oneshot`: one turn, on a new session or on the one that `session_id` names in full."""

    prompt: str = ""
    format: OutputFormat = OutputFormat.PLAIN
    session_id: str | None = None
    writable_roots: tuple[Path, ...] = ()

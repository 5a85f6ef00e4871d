"""A command line over an installation in a temporary directory, with a program that only records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from meka.cli.main import run
from meka.config.options import OneshotOptions, RunOptions, ServeOptions
from meka.config.places import Places
from meka.store import credentials
from meka.store.database import Database
from tests.fakes import FakeClock


@dataclass
class FakeProgram:
    """Records what it is told; its store is real."""

    clock: FakeClock = field(default_factory=FakeClock)
    verbosity: list[int] = field(default_factory=list)
    served: list[ServeOptions] = field(default_factory=list)
    asked: list[OneshotOptions] = field(default_factory=list)
    tools: list[Mapping[str, Any]] = field(default_factory=list)
    code: int = 0

    def set_up_logging(self, verbosity: int) -> None:
        self.verbosity.append(verbosity)

    def serve(self, options: ServeOptions) -> int:
        self.served.append(options)
        return self.code

    def oneshot(self, options: OneshotOptions) -> int:
        self.asked.append(options)
        return self.code

    def list_tools(self, options: RunOptions) -> Sequence[Mapping[str, Any]]:
        return self.tools

    def open_store(self, places: Places) -> Database:
        return Database.open(places.store_path, clock=self.clock)


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str


@dataclass
class Shell:
    """Runs commands on one installation."""

    directory: Path
    program: FakeProgram = field(default_factory=FakeProgram)
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def config_path(self) -> Path:
        return self.directory / "config" / "config.toml"

    @property
    def config_text(self) -> str:
        return self.config_path.read_text() if self.config_path.exists() else ""

    def write_config(self, text: str) -> None:
        self.config_path.parent.mkdir(exist_ok=True)
        self.config_path.write_text(text)

    def __call__(self, *arguments: str, stdin: str = "") -> Outcome:
        environ = {
            "MEKA_CONFIG_DIR": str(self.directory / "config"),
            "MEKA_DATA_DIR": str(self.directory / "data"),
        }
        with CliRunner().isolation(input=stdin) as (out, err, _):
            code = run(arguments, self.program, environ | self.extra)
        return Outcome(code, out.getvalue().decode(), err.getvalue().decode())

    def done(self, *arguments: str, stdin: str = "") -> str:
        """The output of a command that has to work."""
        outcome = self(*arguments, stdin=stdin)
        assert outcome.code == 0, outcome
        return outcome.out

    def store(self) -> Database:
        return self.program.open_store(Places(self.directory / "config", self.directory / "data"))

    def key_of(self, account: str) -> str | None:
        """The API key that the store holds for an account."""
        with self.store() as database:
            stored = database.read(lambda tx: credentials.get(tx, account))
        return None if stored is None else str(stored.secret["api_key"])


@pytest.fixture
def meka(tmp_path: Path) -> Shell:
    return Shell(tmp_path)

"""What every command works on: the installation's places, file and store, and the program behind them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import click

from meka.base.errors import ConfigurationError
from meka.config.draft import Draft, open_draft
from meka.config.load import load_config, load_text
from meka.config.model import Config
from meka.config.options import OneshotOptions, RunOptions, ServeOptions
from meka.config.places import Places, find_places
from meka.store.database import Database


class Program(Protocol):
    """What the composition root offers to a command line."""

    def set_up_logging(self, verbosity: int) -> None:
        """Log to stderr; more with each `-v`."""

    def serve(self, options: ServeOptions) -> int:
        """Run the server until it ends; its exit code."""

    def oneshot(self, options: OneshotOptions) -> int:
        """Run one turn; its exit code."""

    def list_tools(self, options: RunOptions) -> Sequence[Mapping[str, Any]]:
        """The tools there are. Shape: `name`, `permission`, `source`, `status`."""

    def open_store(self, places: Places) -> Database:
        """The store, migrated."""


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation, as a command sees it."""

    program: Program
    environ: Mapping[str, str] = field(repr=False)

    @property
    def places(self) -> Places:
        """Its directories; what is odd about them is said on stderr."""
        places, warnings = find_places(self.environ)
        for warning in warnings:
            say(f"warning: {warning}")
        return places

    def load(self) -> Config:
        """The file as it would be run on, without its tokens. Raises: ConfigurationError."""
        return load_config(self.places.config_path, self.environ, serving=False).config

    @contextmanager
    def editing(self) -> Iterator[Draft]:
        """The file, locked for an edit. Raises: ConfigurationError."""
        with open_draft(self.places.config_path) as draft:
            yield draft

    def check(self, draft: Draft) -> Callable[[str], object]:
        """What an added or changed entry is held to before it is saved: that the whole file loads."""

        def check(text: str) -> None:
            try:
                load_text(text, draft.path, self.environ, serving=False)
            except ConfigurationError:
                # A defect that was there before is named by the line on which the person will find it.
                load_text(draft.original, draft.path, self.environ, serving=False)
                raise

        return check

    @contextmanager
    def store(self) -> Iterator[Database]:
        """The store, open for the block."""
        database = self.program.open_store(self.places)
        try:
            yield database
        finally:
            database.close()


pass_installation = click.make_pass_decorator(Installation)


def say(text: str) -> None:
    """A note to the person, on stderr; stdout is for what was asked for."""
    click.echo(text, err=True)

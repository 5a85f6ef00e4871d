"""The command line: `meka`, its global options, and the way from an outcome to an exit code."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from meka.base.errors import MekaError
from meka.base.levels import Level
from meka.cli.accounts import account
from meka.cli.installation import Installation, Program, say
from meka.cli.keys import read_prompt
from meka.cli.options import OneshotOptions, OutputFormat, RunOptions, ServeOptions
from meka.cli.output import format_option, print_list
from meka.cli.profiles import profile
from meka.cli.sessions import find_session, session
from meka.config.model import SandboxBackend
from meka.store import lookup
from meka.store.failures import StoreOpenError

_PIPE_GONE, _FAILED, _MISUSED, _INTERRUPTED = 0, 1, 2, 130
_ONE_RUN_ONLY = ("continue_last", "resume", "writable_roots", "skill", "prompt", "oneshot", "output_format")


def _choice(kind: Any) -> click.Choice[str]:
    return click.Choice([choice.value for choice in kind])


def run_options(command: Any) -> Any:
    """The options that say how turns run, for whatever runs them."""
    for option in (
        click.option("--profile", metavar="NAME", help="The profile of sessions that name none."),
        click.option("--permission", type=_choice(Level), help="The level a session starts on."),
        click.option("--no-stream", is_flag=True, help="Ask providers for whole replies."),
        click.option("--sandbox-backend", type=_choice(SandboxBackend), help="What confines shell commands."),
        click.option("--instructions", metavar="TEXT", help="Standing instructions, above every other source."),
        click.option("-c", "--continue", "continue_last", is_flag=True, help="Go on with the latest session."),
        click.option("-r", "--resume", metavar="ID", help="Go on with the session whose id begins so."),
    ):
        command = option(command)
    return command


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="meka", prog_name="meka")
@click.version_option(None, "-V", package_name="meka", prog_name="meka", hidden=True)
@click.option("--oneshot", is_flag=True, help="Run one turn and leave.")
@click.option("-p", "--prompt", metavar="TEXT", help="What to ask; - reads it from standard input.")
@click.option("--format", "output_format", type=_choice(OutputFormat), help="With --oneshot: how it answers.")
@click.option("--skill", metavar="NAME", help="A skill to invoke.")
@click.option(
    "--writable-root", "writable_roots", metavar="PATH", multiple=True, type=click.Path(path_type=Path),
    help="Another directory that workspace tools may write; may be repeated.",
)  # fmt: skip
@click.option("--eager-load-tool", "eager_tools", metavar="SERVER:TOOL", multiple=True, hidden=True)
@click.option("--render-mode", metavar="MODE", hidden=True)
@click.option("-v", "--verbose", count=True, help="Log more: -v info, -vv debug.")
@run_options
@click.pass_context
def cli(context: click.Context, **given: Any) -> int | None:
    """An HTTP server that runs AI agent turns for other programs."""
    set_up_logging(given["verbose"])
    if context.invoked_subcommand is None:
        return _run_bare(context, given)
    _refuse_misplaced(context.invoked_subcommand, given)
    return None


def _run_bare(context: click.Context, given: dict[str, Any]) -> int:
    if given["oneshot"]:
        return _oneshot(context.find_object(Installation), given)
    for flag, key in (("--prompt", "prompt"), ("--format", "output_format"), ("--skill", "skill")):
        if given[key] is not None:
            raise click.UsageError(f"{flag} goes with --oneshot")
    click.echo(context.get_help(), err=True)
    return _MISUSED

"""`meka` with its global options, `meka serve`, `meka tool` and one-shot runs."""

from pathlib import Path
from typing import Any

import click

from meka.base.errors import ConfigurationError
from meka.base.version import VERSION
from meka.cli.accounts import account
from meka.cli.flags import (
    RUN_FLAGS,
    choice_of,
    flags_of,
    merged,
    refuse_flags,
    refused_session_options,
    run_options,
    session_options,
)
from meka.cli.installation import Installation, pass_installation, say
from meka.cli.keys import read_prompt
from meka.cli.lookup import find_session
from meka.cli.output import format_option, print_list
from meka.cli.profiles import profile
from meka.cli.sessions import session
from meka.config.addresses import AddressError, split_bind
from meka.config.options import OneshotOptions, OutputFormat, RunOptions, ServeOptions
from meka.store import lookup

MISUSED = 2


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "-V", "--version", prog_name="meka")
@click.option("-v", "--verbose", count=True, help="Log more: -v outcomes, -vv details.")
@click.option("--render-mode", metavar="MODE", hidden=True)
@click.option("--eager-load-tool", "eager_tools", metavar="SERVER:TOOL", multiple=True, hidden=True)
@click.option(
    "--writable-root", "writable_roots", metavar="PATH", multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="With --oneshot: another directory that tools may write; may be repeated.",
)  # fmt: skip
@click.option("--skill", metavar="NAME", help="Not there yet: any name is refused.")
@click.option(
    "--format", "output_format", type=choice_of(OutputFormat), help="With --oneshot: how to answer."
)
@click.option("-p", "--prompt", metavar="TEXT", help="With --oneshot: what to ask; - is standard input.")
@click.option("--oneshot", is_flag=True, help="Run one turn and leave.")
@session_options
@run_options
@click.pass_context
@pass_installation
def cli(installation: Installation, context: click.Context, /, **given: Any) -> int | None:
    """An HTTP server that runs AI agent turns for other programs."""
    installation.program.set_up_logging(given["verbose"])
    context.meta["meka.given"] = given
    if context.invoked_subcommand is None:
        return _run_bare(installation, context, given)
    if context.invoked_subcommand not in ("serve", "tool"):
        refuse_flags(given, context.invoked_subcommand)
    return None


def _run_bare(installation: Installation, context: click.Context, given: dict[str, Any]) -> int:
    if given["oneshot"]:
        return _run_oneshot(installation, given)
    for flag, key in (("--prompt", "prompt"), ("--format", "output_format"), ("--skill", "skill")):
        if given[key] is not None:
            raise click.UsageError(f"{flag} goes with --oneshot only")
    click.echo(context.get_help(), err=True)
    return MISUSED


def _run_oneshot(installation: Installation, given: dict[str, Any]) -> int:
    if given["skill"] is not None:
        raise ConfigurationError(f"no skill named '{given['skill']}'")
    if given["continue_last"] and given["resume"] is not None:
        raise click.UsageError("-c and -r both name a session; give one")
    prompt = read_prompt(given["prompt"] or "")
    if not prompt.strip():
        raise click.UsageError("--oneshot needs a prompt that is not blank: -p TEXT, or -p - to read it")
    if given["eager_tools"]:
        say("warning: --eager-load-tool has no effect, since this version has no MCP servers")
    options = OneshotOptions(
        environ=installation.environ,
        flags=flags_of(given),
        instructions=given["instructions"],
        prompt=prompt,
        format=OutputFormat(given["output_format"] or OutputFormat.PLAIN),
        session_id=_session_to_resume(installation, given),
        writable_roots=tuple(given["writable_roots"]),
    )
    return installation.program.oneshot(options)


def _session_to_resume(installation: Installation, given: dict[str, Any]) -> str | None:
    if given["resume"] is None and not given["continue_last"]:
        return None
    with installation.store() as database:
        if given["resume"] is not None:
            return find_session(database, given["resume"])
        latest = database.read(lookup.latest_root)
    if latest is None:
        raise ConfigurationError("there is no session to go on with")
    return latest


def _check_bind(bind: str | None) -> None:
    """Refuse what the file would refuse: a part left out would listen on every interface."""
    if bind is not None:
        try:
            split_bind(bind)
        except AddressError as error:
            raise click.UsageError(f"--bind {error}") from None


@cli.command()
@click.option("-v", "--verbose", count=True, help="Log more: -v outcomes, -vv details.")
@click.option("--bind", metavar="HOST:PORT", help="Where to listen, instead of [serve].bind.")
@refused_session_options
@run_options
@click.pass_context
@pass_installation
def serve(
    installation: Installation, context: click.Context, /, bind: str | None, verbose: int, **given: Any
) -> int:
    """Serve the HTTP API until it is told to stop."""
    flags = merged(context.meta["meka.given"], given)
    installation.program.set_up_logging(flags["verbose"] + verbose)
    if flags["continue_last"] or flags["resume"]:
        raise click.UsageError(
            "`meka serve` takes neither -c nor -r: it makes a session for each POST /v1/sessions, and an "
            "existing one is addressed by its id under /v1/sessions/{id}"
        )
    refuse_flags(flags, "serve", but=RUN_FLAGS)
    _check_bind(bind)
    options = ServeOptions(installation.environ, flags_of(flags), flags["instructions"], bind)
    return installation.program.serve(options)


@cli.group()
def tool() -> None:
    """List the tools."""


@tool.command("list")
@format_option
@click.pass_context
@pass_installation
def list_tools(installation: Installation, context: click.Context, /, output_format: str) -> None:
    """List the tools, with the level each needs and whether a model is shown it."""
    given = context.meta["meka.given"]
    refuse_flags(given, "tool list", but=RUN_FLAGS)
    options = RunOptions(installation.environ, flags_of(given), given["instructions"])
    tools = installation.program.list_tools(options)
    print_list("tools", list(tools), output_format, ("name", "permission", "source", "status"))


cli.add_command(account)
cli.add_command(profile)
cli.add_command(session)

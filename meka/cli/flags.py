"""The options that say how turns run: on `meka` itself, and again on the commands that run or list them."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

import click

from meka.base.levels import Level
from meka.config.environment import Flags
from meka.config.model import SandboxBackend

Command = TypeVar("Command", bound=Callable[..., Any])

_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        "continue_last": "-c",
        "resume": "-r",
        "oneshot": "--oneshot",
        "prompt": "--prompt",
        "output_format": "--format",
        "skill": "--skill",
        "writable_roots": "--writable-root",
        "eager_tools": "--eager-load-tool",
        "profile": "--profile",
        "permission": "--permission",
        "no_stream": "--no-stream",
        "sandbox_backend": "--sandbox-backend",
        "instructions": "--instructions",
    }
)
RUN_FLAGS = frozenset({"profile", "permission", "no_stream", "sandbox_backend", "instructions"})
"""What says how turns run whoever runs them; the others are one run's own."""


def choice_of(kind: type[StrEnum]) -> click.Choice[str]:
    """The spellings of a closed choice, as an option takes them."""
    return click.Choice([choice.value for choice in kind])


def run_options(command: Command) -> Command:
    """`RUN_FLAGS`."""
    for option in (
        click.option("--instructions", metavar="TEXT", help="Standing instructions, above all others."),
        click.option("--sandbox-backend", type=choice_of(SandboxBackend), help="What confines commands."),
        click.option("--no-stream", is_flag=True, help="Ask providers for whole replies."),
        click.option("--permission", type=choice_of(Level), help="The level a session starts on."),
        click.option("--profile", metavar="NAME", help="The profile of sessions that name none."),
    ):
        command = option(command)
    return command


def session_options(command: Command) -> Command:
    """The two that name one run's session."""
    return _session_options(
        command,
        "With --oneshot: go on with the latest session.",
        "With --oneshot: go on with the session whose id begins with ID.",
    )


def refused_session_options(command: Command) -> Command:
    """The same where they are known so that the refusal can say what to do instead."""
    refused = "Refused: it names one run's session."
    return _session_options(command, refused, refused)


def _session_options(command: Command, continue_help: str, resume_help: str) -> Command:
    command = click.option("-r", "--resume", metavar="ID", help=resume_help)(command)
    return click.option("-c", "--continue", "continue_last", is_flag=True, help=continue_help)(command)


def refuse_flags(given: Mapping[str, Any], command: str, *, but: frozenset[str] = frozenset()) -> None:
    """Raises: UsageError for the first flag that was given and means nothing to `command`."""
    for key, spelling in _SPELLINGS.items():
        if given.get(key) and key not in but:
            raise click.UsageError(f"{spelling} does not go with `meka {command}`")


def merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of a command over those that stand before its name."""
    return {**outer, **{key: value for key, value in inner.items() if value}}


def flags_of(given: Mapping[str, Any]) -> Flags:
    """The flags as they stand above environment and file."""
    permission, sandbox = given["permission"], given["sandbox_backend"]
    return Flags(
        permission=Level(permission) if permission else None,
        sandbox_backend=SandboxBackend(sandbox) if sandbox else None,
        profile=given["profile"],
        stream=False if given["no_stream"] else None,
    )

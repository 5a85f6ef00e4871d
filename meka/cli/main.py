"""From arguments to an exit code: 0 done, 1 refused or failed, 2 misused, 130 interrupted."""

import os
import sys
from collections.abc import Mapping, Sequence

import click

from meka.base.errors import MekaError
from meka.cli.commands import MISUSED, cli
from meka.cli.installation import Installation, Program, say
from meka.store.failures import StoreOpenError

_FAILED, _INTERRUPTED = 1, 130


def run(arguments: Sequence[str], program: Program, environ: Mapping[str, str]) -> int:
    """One command, from its arguments to its exit code; what went wrong is one line on stderr."""
    try:
        code = _run_command(arguments, Installation(program, environ))
        sys.stdout.flush()
    except BrokenPipeError:  # who read our output has what they wanted
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        say(f"error: {error.strerror or error}")
        return _FAILED
    return code


def _run_command(arguments: Sequence[str], installation: Installation) -> int:
    try:
        # Not `cli.main`, which makes a reader that stopped reading a failure.
        with cli.make_context("meka", list(arguments), obj=installation) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except click.UsageError as error:
        error.show()
        return MISUSED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MekaError as error:
        say(f"error: {error.detail}")
        return _FAILED
    except StoreOpenError as error:
        say(f"error: {error}")
        return _FAILED
    return code if isinstance(code, int) else 0


def _discard_output() -> None:
    """Let the interpreter's last flush of stdout go nowhere, instead of failing once more."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

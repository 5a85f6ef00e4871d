"""API keys: from standard input or a hidden prompt, never from the arguments."""

import sys

import click

from meka.base.errors import ConfigurationError


def read_api_key(*, from_stdin: bool) -> str:
    """The key a person gives. Raises: ConfigurationError when there is none to be had."""
    if from_stdin:
        key = sys.stdin.readline()
    elif sys.stdin.isatty():
        key = click.prompt("API key", hide_input=True, err=True)
    else:
        raise ConfigurationError("an API key is asked for at a terminal; elsewhere give --api-key-stdin")
    if not key.strip():
        raise ConfigurationError("the API key is blank")
    return str(key.strip())


def read_prompt(text: str) -> str:
    """The prompt of a turn; `-` reads it from standard input."""
    return sys.stdin.read() if text == "-" else text

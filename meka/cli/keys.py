"""API keys: from standard input or a hidden prompt, never from the arguments."""

import sys

import click

from meka.base.errors import ConfigurationError


def read_api_key(*, from_stdin: bool) -> str:
    """The key a person gives. Raises: ConfigurationError when there is none to be had."""
    stdin = click.get_text_stream("stdin")
    if from_stdin:
        key = stdin.readline()
    elif stdin.isatty():
        key = click.prompt("API key", hide_input=True, err=True)
    else:
        raise ConfigurationError("an API key is read from a terminal, or with --api-key-stdin from standard input")
    if not key.strip():
        raise ConfigurationError("the API key is blank")
    return str(key.strip())


def read_prompt(text: str) -> str:
    """The prompt of a turn; `-` reads it from standard input."""
    return click.get_text_stream("stdin").read() if text == "-" else text



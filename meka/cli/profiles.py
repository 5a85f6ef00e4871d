"""`meka profile`: models on accounts, and how they are used."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from meka.base.errors import ConfigurationError, MekaError
from meka.cli.installation import Installation, pass_installation
from meka.cli.output import format_option, print_list
from meka.config import edit
from meka.config.catalog import profile_view
from meka.config.model import ThinkingDisplay, ThinkingMode
from meka.config.rewrite import TomlValue
from meka.store import renames, sessions


def _text(_key: str, text: str) -> TomlValue:
    return text


def _whole_number(key: str, text: str) -> TomlValue:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ConfigurationError(f"{key} must be a whole number")
    return int(text)


def _switch(key: str, text: str) -> TomlValue:
    if text not in ("true", "false"):
        raise ConfigurationError(f"{key} must be true or false")
    return text == "true"


def _names(_key: str, text: str) -> TomlValue:
    return text.split(",")


_PARSERS: Mapping[str, Callable[[str, str], TomlValue]] = MappingProxyType(
    {
        "model": _text,
        "context_window": _whole_number,
        "max_output_tokens": _whole_number,
        "effort": _text,
        "vision": _switch,
        "thinking": _text,
        "thinking_budget": _whole_number,
        "max_request_bytes": _whole_number,
        "thinking_display": _text,
        "deferred_tools": _text,
        "fallbacks": _names,
    }
)
_KEYS = ", ".join(_PARSERS)


@click.group()
def profile() -> None:
    """Add, change, list, rename and remove profiles."""


@profile.command()
@click.argument("name")
@click.option("--account", required=True, help="The account that is billed.")
@click.option("--model", required=True, help="The model, as the backend calls it.")
@click.option("--context-window", type=int, help="The model's window, in tokens.")
@click.option("--max-output-tokens", type=int, help="The longest reply, in tokens.")
@click.option("--effort", help="How hard the model works: low, medium, high, ...")
@click.option("--vision", type=bool, help="Whether the model reads images.")
@click.option("--thinking", help=f"How thinking is asked for: {', '.join(ThinkingMode)}.")
@click.option("--thinking-budget", type=int, help="Tokens for thinking, when it is budgeted.")
@click.option("--max-request-bytes", type=int, help="The largest request body, in bytes.")
@click.option("--thinking-display", help=f"How thinking is shown: {', '.join(ThinkingDisplay)}.")
@click.option("--deferred-tools", help="`native`, where the provider can load tools itself.")
@click.option("--fallback", "fallbacks", multiple=True, help="A profile to fall back to; may be repeated.")
@pass_installation
def add(installation: Installation, /, name: str, fallbacks: Sequence[str], **settings: Any) -> None:
    """Add the profile NAME."""
    with installation.editing() as draft, installation.store() as database:
        edit.add_profile(draft, name, {**settings, "fallbacks": list(fallbacks)})
        draft.save(installation.check(draft))
        database.write(lambda tx: renames.begin_anew(tx, name))


@profile.command("set", epilog=f"KEY is one of {_KEYS}; fallbacks takes names with commas between.")
@click.argument("name")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Remove KEY, so that its default applies.")
@pass_installation
def set_key(installation: Installation, /, name: str, key: str, value: str | None, unset: bool) -> None:
    """Set KEY of the profile NAME to VALUE, or remove it."""
    if unset == (value is not None):
        raise click.UsageError("give a VALUE or --unset, one of the two")
    parse = _PARSERS.get(key)
    if parse is None:
        raise ConfigurationError(f"'{key}' is no key of a profile that can be set; it is one of {_KEYS}")
    with installation.editing() as draft:
        edit.change_profile(draft, name, {key: None if value is None else parse(key, value)})
        draft.save(installation.check(draft))


@profile.command()
@click.argument("name")
@pass_installation
def use(installation: Installation, /, name: str) -> None:
    """Make NAME the default of sessions that name no profile."""
    with installation.editing() as draft:
        edit.use_profile(draft, name)
        draft.save(installation.check(draft))


@profile.command("list")
@format_option
@pass_installation
def list_profiles(installation: Installation, /, output_format: str) -> None:
    """List the profiles."""
    config = installation.load()
    views = [profile_view(config, name) for name in config.profiles]
    print_list("profiles", views, output_format, ("name", "account", "backend", "model", "active"))


@profile.command()
@click.argument("name")
@pass_installation
def remove(installation: Installation, /, name: str) -> None:
    """Remove the profile NAME; its sessions refuse to resume until they are moved."""
    with installation.editing() as draft:
        edit.remove_profile(draft, name)
        draft.save()


@profile.command()
@click.argument("old")
@click.argument("new")
@pass_installation
def rename(installation: Installation, /, old: str, new: str) -> None:
    """Rename the profile OLD to NEW, for its sessions too."""
    with installation.editing() as draft, installation.store() as database:
        edit.rename_profile(draft, old, new)
        database.write(lambda tx: renames.note(tx, old, new))
        try:
            draft.save()
        except (MekaError, OSError):
            database.write(lambda tx: renames.forget(tx, old))
            raise
        try:
            database.write(lambda tx: sessions.rename_profile(tx, old, new))
        except (MekaError, OSError):
            draft.undo()
            raise

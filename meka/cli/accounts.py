"""`meka account`: backends to bill, and the credentials they are entered with."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from meka.base.clock import SystemClock
from meka.base.errors import ConfigurationError, MekaError
from meka.cli.installation import Installation, pass_installation, say
from meka.cli.keys import read_api_key
from meka.cli.output import format_option, print_list
from meka.config import edit
from meka.config.backends import Backend, Credential, facts_of
from meka.config.catalog import account_view, unknown_name
from meka.config.draft import Draft
from meka.config.model import Account
from meka.service import oauth
from meka.service.accounts import authenticated, orphaned, put_key
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database


@click.group()
def account() -> None:
    """Add, list, rename and remove accounts."""


@account.command()
@click.argument("name")
@click.option("--backend", required=True, help=f"One of {', '.join(Backend)}.")
@click.option("--base-url", help="Where the backend answers, if not at its own address.")
@click.option("--oauth-token-url", help="Where a subscription's tokens are exchanged.")
@click.option("--client-id", help="The OAuth client of a subscription.")
@click.option("--interleaved-thinking", type=bool, help="Whether thinking between tool calls is asked for.")
@click.option("--prompt-cache-key", type=bool, help="Whether requests carry a key for the prompt cache.")
@click.option("--stream-usage", type=bool, help="Whether streams are asked for token counts.")
@click.option("--max-tool-name-bytes", type=int, help="The longest tool name the endpoint takes.")
@click.option("--api-key-stdin", is_flag=True, help="Read the API key from standard input.")
@pass_installation
def add(installation: Installation, /, name: str, backend: str, api_key_stdin: bool, **settings: Any) -> None:
    """Add the account NAME."""
    credential = _credential_of(backend)
    if api_key_stdin and credential in (Credential.NONE, Credential.OAUTH):
        raise ConfigurationError(f"the backend {backend} takes no API key")
    if credential is Credential.API_KEY:
        with _adding(installation, name, backend, settings):
            pass  # every refusal comes before a key is asked for, and nobody waits for a person at the lock
    key = read_api_key(from_stdin=api_key_stdin) if credential is Credential.API_KEY else None
    with _adding(installation, name, backend, settings) as (draft, database):
        draft.save()
        if key is not None:
            _store_key(database, draft, name, key)
    if credential is Credential.OAUTH:
        say(f"account '{name}' holds no credential yet; run `meka account login {name}`")


def _credential_of(backend: str) -> Credential | None:
    facts = facts_of(backend)
    return None if facts is None else facts.credential


@contextmanager
def _adding(
    installation: Installation, name: str, backend: str, settings: Mapping[str, Any]
) -> Iterator[tuple[Draft, Database]]:
    """A draft that holds the new account and could be saved, and the store. Raises: ConfigurationError."""
    with installation.editing() as draft, installation.store() as database:
        orphans = orphaned(database, draft.section("accounts"))
        edit.add_account(draft, name, backend, settings, orphans=orphans)
        installation.check(draft)(draft.text)
        yield draft, database


def _store_key(database: Database, draft: Draft, name: str, key: str) -> None:
    """Store the key of an account that was just added; without it the account goes again."""
    try:
        put_key(database, name, key)
    except BaseException:
        draft.undo()
        raise


@account.command()
@click.argument("name")
@click.option("--api-key-stdin", is_flag=True, help="Read the API key from standard input.")
@pass_installation
def login(installation: Installation, /, name: str, api_key_stdin: bool) -> None:
    """Store another API key for the account NAME, or log in to a subscription in a browser."""
    with installation.editing() as draft:
        entry = _require_account(draft, name)
    if _credential_of(entry.backend) is Credential.OAUTH and not api_key_stdin:
        _log_in_by_browser(installation, name, entry)
        return
    _require_key_account(name, entry)
    key = read_api_key(from_stdin=api_key_stdin)
    with installation.editing() as draft, installation.store() as database:
        _require_key_account(name, _require_account(draft, name))
        put_key(database, name, key)


def _log_in_by_browser(installation: Installation, name: str, entry: Account) -> None:
    """The person opens a page and pastes what it gives; nobody waits for them at the file's lock."""
    client = oauth.client_of(name, entry)
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    say(f"Open this page: {oauth.authorization_url(client, state, verifier)}")
    what = "the code it shows" if client.completes_with == "code" else "the address the browser lands on"
    given = oauth.read_paste(click.prompt(f"Paste {what}", err=True))
    if given is None or given.state not in (None, state):
        raise ConfigurationError("there is no code of this login in what was pasted")
    try:
        bundle = oauth.exchange(client, given.code, verifier, SystemClock().now())
    except oauth.TokenEndpointError as error:
        raise ConfigurationError(f"the login failed: {error}") from None
    with installation.editing() as draft, installation.store() as database:
        if _require_account(draft, name) != entry:
            raise ConfigurationError(f"account '{name}' was changed during its login; log in again")
        database.write(lambda tx: credentials.put(tx, name, CredentialKind.OAUTH, bundle))


def _require_account(draft: Draft, name: str) -> Account:
    edit.require_account(draft, name)
    return draft.catalog().accounts[name]


def _require_key_account(name: str, entry: Account) -> None:
    credential = _credential_of(entry.backend)
    if credential is None:
        raise ConfigurationError(f"account '{name}' names no backend of this version")
    if credential is Credential.NONE:
        raise ConfigurationError(f"account '{name}' is on {entry.backend}, which takes no credential")
    if credential is Credential.OAUTH:
        raise ConfigurationError(f"account '{name}' is on {entry.backend}, which takes no API key")


@account.command("list")
@format_option
@pass_installation
def list_accounts(installation: Installation, /, output_format: str) -> None:
    """List the accounts, and credentials whose account is gone."""
    config = installation.load()
    with installation.store() as database:
        held = database.read(credentials.list_names)
        views = [
            account_view(name, entry, authenticated(database, name, entry))
            for name, entry in config.accounts.items()
        ]
    orphans = [name for name in held if name not in config.accounts]
    extra = {"orphaned_credentials": orphans} if orphans else None
    print_list("accounts", views, output_format, ("name", "backend", "authenticated", "base_url"), extra)
    if orphans and output_format == "plain":
        say(f"credentials without an account: {', '.join(orphans)}; `meka account remove` clears one")


@account.command()
@click.argument("name")
@pass_installation
def remove(installation: Installation, /, name: str) -> None:
    """Remove the account NAME and its credential, or a credential whose account is gone."""
    with installation.editing() as draft, installation.store() as database:
        configured = edit.remove_account(draft, name)
        draft.save()
        stored = database.write(lambda tx: credentials.delete(tx, name))
        if not configured and not stored:
            raise ConfigurationError(unknown_name("account", draft.section("accounts"), name))


@account.command()
@click.argument("old")
@click.argument("new")
@pass_installation
def rename(installation: Installation, /, old: str, new: str) -> None:
    """Rename the account OLD to NEW, with its credential and in every profile on it."""
    with installation.editing() as draft, installation.store() as database:
        edit.rename_account(draft, old, new, orphans=orphaned(database, draft.section("accounts")))
        draft.save()
        try:
            database.write(lambda tx: credentials.rename(tx, old, new))
        except (MekaError, OSError):
            draft.undo()
            raise

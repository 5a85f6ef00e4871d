"""Accounts over HTTP: listed, added, renamed, removed, and given another key."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from meka.base.errors import AccountInUseError, ConfigurationError, NotFoundError
from meka.config import edit
from meka.config.backends import Credential, facts_of
from meka.config.catalog import account_view, fallback_names, unknown_name
from meka.config.draft import Draft
from meka.config.load import parse_document, read_config_text
from meka.config.model import Account, Profile
from meka.config.places import Places
from meka.service.installation import Installation
from meka.service.logins import Logins
from meka.service.models import Models
from meka.service.registry import Registry
from meka.service.runtime import SessionRuntime
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database


class Accounts:
    """The product rules of accounts; every write is served when it returns."""

    def __init__(
        self,
        installation: Installation,
        database: Database,
        places: Places,
        run_blocking: Callable[..., Any],
        logins: Logins,
        may_be_in_use: Callable[[str], bool],
    ) -> None:
        self._logins = logins
        self._may_be_in_use = may_be_in_use
        self._installation = installation
        self._database = database
        self._places = places
        self._run_blocking = run_blocking

    @property
    def _configured(self) -> Mapping[str, Account]:
        return self._installation.in_force.config.accounts

    def list(self) -> dict[str, Any]:
        """Every account, and the names that a credential is stored under and no account has."""
        body: dict[str, Any] = {"accounts": [self.view(name) for name in self._configured]}
        orphans = self._orphans_now()
        return body | ({"orphaned_credentials": orphans} if orphans else {})

    def _orphans_now(self) -> Sequence[str]:
        claimed = {*self._configured, *self._run_blocking(self._names_in_file)}
        return orphaned(self._database, claimed)

    def _names_in_file(self) -> Collection[str]:
        """The file's own accounts: one added in a shell claims its credential before it is served."""
        path = self._places.config_path
        try:
            accounts = parse_document(read_config_text(path), path).get("accounts", {})
        except ConfigurationError:
            return ()
        return tuple(accounts) if isinstance(accounts, Mapping) else ()

    def view(self, name: str) -> dict[str, Any]:
        """One account. Raises: NotFoundError."""
        account = self._configured.get(name)
        if account is None:
            raise NotFoundError(unknown_name("account", self._configured, name))
        return account_view(name, account, authenticated(self._database, name, account))

    def add(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Add an account, with its key where the backend takes one. Raises: ConfigurationError."""
        settings = dict(body)
        name, backend = settings.pop("name"), settings.pop("backend")
        key = _key_for(backend, settings.pop("api_key", None))

        def change(draft: Draft) -> None:
            edit.add_account(draft, name, backend, settings, orphans=self._orphans(draft))

        def commit() -> None:
            if key is not None:
                put_key(self._database, name, key)

        self._installation.write(change, commit)
        return self.view(name)

    def rename(self, name: str, new: str) -> dict[str, Any]:
        """Rename an account, its credential and what its profiles name. Raises: NotFoundError, MekaError."""

        def change(draft: Draft) -> None:
            require_in_file(draft, "account", name)
            if new != name:
                self._refuse_in_use(name)
            edit.rename_account(draft, name, new, orphans=self._orphans(draft))

        self._installation.write(
            change, lambda: self._database.write(lambda tx: credentials.rename(tx, name, new))
        )
        if new != name:
            self._logins.end(name, "the account was renamed")
        return self.view(new)

    def _refuse_in_use(self, name: str) -> None:
        """A provider that runs refreshes its credential under the name it knows."""
        stored = self._database.read(lambda tx: credentials.get(tx, name))
        if stored is not None and stored.kind is CredentialKind.OAUTH and self._may_be_in_use(name):
            raise AccountInUseError(
                f"account '{name}' may be in use by a session that is open; rename it once those have closed"
            )

    def remove(self, name: str) -> None:
        """Remove an account and its credential, or a credential alone; again finishes what failed.

        Raises: NotFoundError when there is neither; ConfigurationError while a profile is on it.
        """
        with self._installation.editing() as draft:
            configured = edit.remove_account(draft, name)
            self._installation.save(draft)
            stored = self._database.write(lambda tx: credentials.delete(tx, name))
            self._logins.end(name, "the account was removed")
            self._installation.serve_written()
            if not configured and not stored:
                raise NotFoundError(unknown_name("account", draft.section("accounts"), name))

    def log_in(self, name: str, key: str | None) -> dict[str, Any]:
        """Store another key. Raises: NotFoundError, ConfigurationError."""
        with self._installation.editing() as draft:
            require_in_file(draft, "account", name)
            backend = str(draft.section("accounts")[name].get("backend", ""))
            given = _key_for(backend, key)
            if given is None:
                raise ConfigurationError(f"account '{name}' is on {backend}, which takes no API key")
            put_key(self._database, name, given)
            self._installation.serve_written()
        return self.view(name)

    def begin_login(self, name: str) -> dict[str, Any] | None:
        """Begin a subscription's browser login; None for an account that takes a key. Raises: MekaError."""
        account = self._configured.get(name)
        if account is None:
            raise NotFoundError(unknown_name("account", self._configured, name))
        facts = facts_of(account.backend)
        if facts is None or facts.credential is not Credential.OAUTH:
            return None
        return self._logins.begin(name, account)

    def complete_login(self, name: str, login_id: str, pasted: str) -> dict[str, Any]:
        """Complete a browser login. Raises: MekaError."""
        self._logins.complete(name, login_id, pasted)
        return self.view(name)

    def login_status(self, name: str, login_id: str) -> dict[str, Any]:
        """Where a browser login stands. Raises: NotFoundError."""
        return self._logins.status(name, login_id)

    def _orphans(self, draft: Draft) -> Sequence[str]:
        return orphaned(self._database, draft.section("accounts"))


def runs_on(registry: Registry, models: Models, account: str) -> bool:
    """Whether a session in memory may run on an account, through its profile or one it falls back to."""
    for runtime in registry.all():
        if runtime.model is not None and runtime.model.profile.account == account:
            return True
        if any(_is_on(models.config.profiles.get(name), account) for name in _may_serve(runtime, models)):
            return True
    return False


def _may_serve(runtime: SessionRuntime, models: Models) -> Iterator[str]:
    """The profiles that a session's next turn may run on; a loaded model keeps the fallbacks it came with."""
    yield runtime.row.profile
    own = models.config.profiles.get(runtime.row.profile)
    if own is not None:
        yield from fallback_names(own)
    if runtime.model is not None:
        yield from runtime.model.profile.fallbacks


def _is_on(profile: Profile | None, account: str) -> bool:
    return profile is not None and profile.account == account


def require_in_file(draft: Draft, noun: str, name: str) -> None:
    """Raises: NotFoundError unless the file has a `noun` of that name."""
    tables = draft.section(f"{noun}s")
    if name not in tables:
        raise NotFoundError(unknown_name(noun, tables, name))


def orphaned(database: Database, claimed: Collection[str]) -> Sequence[str]:
    """The names that a credential is stored under and that are not `claimed`."""
    return [name for name in database.read(credentials.list_names) if name not in claimed]


def put_key(database: Database, name: str, key: str) -> None:
    """Store an account's API key."""
    database.write(lambda tx: credentials.put(tx, name, CredentialKind.API_KEY, {"api_key": key}))


def _key_for(backend: str, given: str | None) -> str | None:
    """The key to store for an account on `backend`; None where it takes none. Raises: ConfigurationError."""
    facts = facts_of(backend)
    if facts is None or facts.credential is not Credential.API_KEY:
        if given is not None:
            raise ConfigurationError(f"the backend {backend} takes no API key")
        return None
    if not (given or "").strip():
        raise ConfigurationError(f"the backend {backend} needs an api_key")
    return (given or "").strip()


def authenticated(database: Database, name: str, account: Account) -> str:
    """Whether a credential is stored that the backend takes: `yes`, `no` or `unreadable`."""
    facts = facts_of(account.backend)
    if facts is not None and facts.credential is Credential.NONE:
        return "yes"
    try:
        stored = database.read(lambda tx: credentials.get(tx, name))
    except (ValueError, KeyError):
        return "unreadable"
    if stored is None or facts is None:
        return "no"
    return "yes" if stored.kind.value == facts.credential.value else "unreadable"

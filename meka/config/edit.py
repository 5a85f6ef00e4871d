"""What may be changed of accounts and profiles, and the sentences of what may not.

Every door shares these functions: the command line and the API. Each changes a `Draft`; its caller saves it.
`served` is the profile that a running server was started with (`meka serve --profile`), None elsewhere.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from meka.base.errors import ConfigurationError
from meka.base.text import scrub_tree
from meka.config.advice import inert_account_keys, inert_profile_keys
from meka.config.backends import backend_names, facts_of
from meka.config.catalog import (
    fallbacks_defect,
    profile_defect,
    unknown_name,
)
from meka.config.decode import Decoded, RefusedKeyError, decode
from meka.config.draft import Draft
from meka.config.model import Account, Profile
from meka.config.names import require_name
from meka.config.outline import KeyPath
from meka.config.rewrite import TomlValue
from meka.config.secrets import is_http_url

ACCOUNT_ORDER = (
    "backend",
    "base_url",
    "oauth_token_url",
    "client_id",
    "interleaved_thinking",
    "prompt_cache_key",
    "stream_usage",
    "max_tool_name_bytes",
    "device_id",
)
PROFILE_ORDER = (
    "account",
    "model",
    "context_window",
    "max_output_tokens",
    "effort",
    "vision",
    "thinking",
    "thinking_budget",
    "max_request_bytes",
    "thinking_display",
    "deferred_tools",
    "fallbacks",
)
_URL_KEYS = ("base_url", "oauth_token_url")


def add_account(
    draft: Draft,
    name: str,
    backend: str,
    settings: Mapping[str, TomlValue | None],
    *,
    orphans: Collection[str] = (),
) -> Account:
    """A new account. `orphans`: names that a removed account's credential is still stored under.

    Raises: ConfigurationError.
    """
    require_new_account(draft, name, orphans)
    if facts_of(backend) is None:
        raise ConfigurationError(f"'{backend}' is no backend; it is one of {backend_names()}")
    stated = {"backend": backend, **_stated(settings)}
    account = _decoded(Account, stated, ("accounts", name))
    for key in inert_account_keys(account):
        raise ConfigurationError(f"account '{name}' sets {key}, which its backend {backend} never reads")
    for key in _URL_KEYS:
        if key in stated and not is_http_url(str(stated[key])):
            raise ConfigurationError(f"account '{name}': {key} must be an http:// or https:// address")
    draft.add_table(("accounts", name), _in_order(stated, ACCOUNT_ORDER))
    return account


def require_new_account(draft: Draft, name: str, orphans: Collection[str]) -> None:
    """Raises: ConfigurationError unless an account can be named `name`."""
    require_name("account", name)
    if name in draft.section("accounts"):
        raise ConfigurationError(f"an account named '{name}' is already configured")
    if name in orphans:
        raise ConfigurationError(
            f"a removed account's credential is still stored under '{name}'; "
            f"clear it with `meka account remove` or DELETE /v1/accounts/{name}"
        )


def remove_account(draft: Draft, name: str) -> bool:
    """Take an account out; False when the file has none of that name. Raises: ConfigurationError."""
    users = [profile for profile, table in draft.section("profiles").items() if table.get("account") == name]
    if users:
        raise ConfigurationError(
            f"account '{name}' cannot be removed while a profile is on it: {_quoted(users)}"
        )
    if name not in draft.section("accounts"):
        return False
    draft.remove(("accounts", name))
    return True


def rename_account(draft: Draft, old: str, new: str, *, orphans: Collection[str] = ()) -> None:
    """Another name for an account, in every profile on it too. Raises: ConfigurationError."""
    require_account(draft, old)
    if old == new:
        return
    require_new_account(draft, new, orphans)
    draft.rename(("accounts", old), new)
    for profile, table in draft.section("profiles").items():
        if table.get("account") == old:
            draft.set(("profiles", profile, "account"), new)


def require_account(draft: Draft, name: str) -> None:
    """Raises: ConfigurationError unless the file has the account."""
    if name not in draft.section("accounts"):
        raise ConfigurationError(unknown_name("account", draft.section("accounts"), name))


def add_profile(
    draft: Draft,
    name: str,
    settings: Mapping[str, TomlValue | None],
    *,
    make_default: bool = False,
    pin_first: bool = False,
    served: str | None = None,
) -> None:
    """A new profile; `pin_first` makes a sole profile before it the default by name (the API's rule).

    Raises: ConfigurationError.
    """
    require_name("profile", name)
    others = draft.section("profiles")
    if name in others:
        raise ConfigurationError(f"a profile named '{name}' is already configured")
    first = next(iter(others)) if len(others) == 1 and draft.default_profile is None else None
    stated = _stated(settings)
    _require_known_account(draft, name, stated.get("account"))
    _decoded(Profile, stated, ("profiles", name))
    draft.add_table(("profiles", name), _in_order(stated, PROFILE_ORDER))
    _refuse_unrunnable(draft, name, set(stated))
    if make_default:
        use_profile(draft, name, served=served)
    elif pin_first and first is not None:
        draft.set(("default_profile",), first)


def change_profile(
    draft: Draft,
    name: str,
    changes: Mapping[str, TomlValue | None],
    *,
    make_default: bool = False,
    served: str | None = None,
) -> None:
    """One write of several settings: None (or "") removes a key, a value sets it, the rest stays.

    Raises: ConfigurationError.
    """
    require_profile(draft, name)
    stated = _stated(changes)
    for key in ("account", "model"):
        if key in changes and key not in stated:
            raise ConfigurationError(f"profile '{name}' cannot go without {key}")
    if "account" in stated:
        _require_known_account(draft, name, stated["account"])
    kept = {key: value for key, value in draft.section("profiles")[name].items() if key not in changes}
    _decoded(Profile, {**kept, **stated}, ("profiles", name))
    for key in changes:
        _change_key(draft, ("profiles", name, key), stated.get(key))
    _refuse_unrunnable(draft, name, {*kept, *stated} if "account" in stated else set(stated))
    if make_default:
        use_profile(draft, name, served=served)


def _change_key(draft: Draft, path: KeyPath, value: TomlValue | None) -> None:
    if value is not None:
        draft.set(path, value, PROFILE_ORDER)
    elif path[-1] in draft.section("profiles")[str(path[1])]:
        draft.remove(path)


def use_profile(draft: Draft, name: str, *, served: str | None = None) -> None:
    """Make a profile the default. Raises: ConfigurationError."""
    require_profile(draft, name)
    if served is not None and served != name:
        raise ConfigurationError(f"the server runs with --profile {served}, its default until it restarts")
    if draft.default_profile != name:
        draft.set(("default_profile",), name)


def remove_profile(draft: Draft, name: str, *, served: str | None = None) -> None:
    """Take a profile out, and the default's name where one profile is left. Raises: ConfigurationError."""
    require_profile(draft, name)
    _refuse_served(name, served, "removed")
    profiles = draft.section("profiles")
    users = [other for other, table in profiles.items() if other != name and name in _fallbacks(table)]
    if users:
        raise ConfigurationError(f"profile '{name}' is a fallback of {_quoted(users)}; drop it there first")
    if draft.default_profile == name and len(profiles) > 2:
        raise ConfigurationError(
            f"profile '{name}' is the default; make another the default first, with `meka profile use` "
            'or PATCH /v1/profiles/{name} and "default": true'
        )
    draft.remove(("profiles", name))
    if draft.default_profile == name:
        draft.remove(("default_profile",))


def rename_profile(draft: Draft, old: str, new: str, *, served: str | None = None) -> None:
    """Another name for a profile, as default and in fallbacks too. Raises: ConfigurationError."""
    require_profile(draft, old)
    if old == new:
        return
    _refuse_served(old, served, "renamed")
    require_name("profile", new)
    if new in draft.section("profiles"):
        raise ConfigurationError(f"a profile named '{new}' is already configured")
    draft.rename(("profiles", old), new)
    if draft.default_profile == old:
        draft.set(("default_profile",), new)
    for profile, table in draft.section("profiles").items():
        for index, fallback in enumerate(_fallbacks(table)):
            if fallback == old:
                draft.set(("profiles", profile, "fallbacks", index), new)


def require_profile(draft: Draft, name: str) -> None:
    """Raises: ConfigurationError unless the file has the profile."""
    if name not in draft.section("profiles"):
        raise ConfigurationError(unknown_name("profile", draft.section("profiles"), name))


def _refuse_served(name: str, served: str | None, verb: str) -> None:
    if name == served:
        raise ConfigurationError(f"the server runs with --profile {name}; it is not {verb} until it restarts")


def _require_known_account(draft: Draft, profile: str, account: object) -> None:
    if not isinstance(account, str):
        raise ConfigurationError(f"profile '{profile}' needs an account")
    require_account(draft, account)


def _refuse_unrunnable(draft: Draft, name: str, written: Collection[str]) -> None:
    """Raises: ConfigurationError for a profile that could not run, or a key `written` that is never sent."""
    config = draft.catalog()
    profile = config.profiles[name]
    account = config.accounts[profile.account]
    for key in inert_profile_keys(account, profile):
        if key in written:
            raise ConfigurationError(
                f"profile '{name}' sets {key}, which the backend {account.backend} never sends"
            )
    defect = profile_defect(config, name) or fallbacks_defect(config, name)
    if defect is not None:
        raise ConfigurationError(defect)


def _stated(settings: Mapping[str, TomlValue | None]) -> dict[str, TomlValue]:
    """What `settings` really set: no None, no blank text; fallbacks trimmed, blank ones dropped.

    What UTF-8 or the store cannot hold is replaced, as everywhere.
    """
    stated: dict[str, TomlValue] = {}
    for key, value in settings.items():
        scrubbed = scrub_tree(value)
        kept = _without_blanks(scrubbed) if isinstance(scrubbed, list | tuple) else scrubbed
        if kept is None or kept == [] or (isinstance(kept, str) and not kept.strip()):
            continue
        stated[key] = kept
    return stated


def _without_blanks(items: Sequence[str]) -> list[str]:
    trimmed = (item.strip() if isinstance(item, str) else item for item in items)
    return [item for item in trimmed if item != ""]


def _decoded(kind: type[Decoded], table: Mapping[str, Any], path: KeyPath) -> Decoded:
    try:
        return decode(kind, table, path)
    except RefusedKeyError as refusal:
        raise ConfigurationError(refusal.sentence) from None


def _in_order(table: Mapping[str, TomlValue], order: Collection[str]) -> dict[str, TomlValue]:
    return {key: table[key] for key in order if key in table}


def _fallbacks(table: Mapping[str, Any]) -> list[str]:
    entries = table.get("fallbacks", [])
    return [str(entry).strip() for entry in entries] if isinstance(entries, list) else []


def _quoted(names: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)

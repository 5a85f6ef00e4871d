"""What a start-up warns of without refusing: settings that do nothing, or that are better changed."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from meka.base.levels import ORDER, Level
from meka.config.backends import EVERY_PROFILE_KEY, FACTS, Backend, facts_of
from meka.config.catalog import profile_defect, unknown_profile
from meka.config.model import Account, Config, Permissions, Profile
from meka.config.names import name_defect

ABSENT_FEATURES: tuple[str, ...] = ("mcp.servers", "schedule", "memory", "skills", "subagents")
"""Sections whose feature this version does not have; one that a file sets is warned of."""

_TLS_VERSIONS = frozenset({"1.2", "1.3"})


def advise(config: Config, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences about a configuration that loads; `document` is the file as parsed."""
    return (
        *_absent_features(document),
        *_catalog_advice(config),
        *_web_advice(config),
    )


def _absent_features(document: Mapping[str, Any]) -> Iterable[str]:
    for section in ABSENT_FEATURES:
        value: Any = document
        for key in section.split("."):
            value = value.get(key, {})
        if value:
            yield f"[{section}] is set, but this version has no such feature; the section has no effect"


def _catalog_advice(config: Config) -> Iterable[str]:
    for name, account in config.accounts.items():
        yield from _name_advice("account", name)
        yield from (
            f"account '{name}' sets {key}, which its backend {account.backend} never reads"
            for key in inert_account_keys(account)
        )
    for name, profile in config.profiles.items():
        yield from _name_advice("profile", name)
        yield from _profile_advice(config, name, profile)
    if config.default_profile is not None and config.default_profile not in config.profiles:
        yield "default_profile: " + unknown_profile(config, config.default_profile)


def _name_advice(noun: str, name: str) -> Iterable[str]:
    defect = name_defect(noun, name)
    if defect is not None:
        yield f"{defect}: {name!r} cannot be addressed over the API"


def _profile_advice(config: Config, name: str, profile: Profile) -> Iterable[str]:
    defect = profile_defect(config, name)
    if defect is not None:
        yield f"{defect}; no session can run on it"
    account = config.accounts.get(profile.account)
    if account is not None:
        yield from (
            f"profile '{name}' sets {key}, which the backend {account.backend} never sends"
            for key in inert_profile_keys(account, profile)
        )


def inert_account_keys(account: Account) -> tuple[str, ...]:
    """The settings that the account states and its backend never reads."""
    facts = facts_of(account.backend)
    if facts is None:
        return ()
    return tuple(key for key in _stated(account) if key != "backend" and key not in facts.account_keys)


def inert_profile_keys(account: Account, profile: Profile) -> tuple[str, ...]:
    """The settings that the profile states and its account's backend never sends."""
    if facts_of(account.backend) is None:
        return ()
    read = EVERY_PROFILE_KEY | FACTS[Backend(account.backend)].profile_keys
    return tuple(key for key in _stated(profile) if key not in read)


def _stated(entry: Account | Profile) -> Iterable[str]:
    return (field.name for field in fields(entry) if getattr(entry, field.name) not in (None, ()))


def _web_advice(config: Config) -> Iterable[str]:
    web = config.web
    if web.min_tls_version is not None and web.min_tls_version not in _TLS_VERSIONS:
        yield "web.min_tls_version is none of 1.2 and 1.3 and is ignored"
    if web.danger_accept_invalid_certs:
        yield "web.danger_accept_invalid_certs is on: certificates are not checked"
    if web.danger_accept_invalid_hostnames:
        yield "web.danger_accept_invalid_hostnames is on: host names of certificates are not checked"


def settle_permissions(
    permissions: Permissions, override: Level | None
) -> tuple[Permissions, tuple[str, ...]]:
    """`permissions` with a default that is enabled (`override` first, when it is), and what to warn of."""
    warnings = []
    if not permissions.enabled:
        warnings.append("permissions.enabled is empty; read alone is enabled")
        permissions = replace(permissions, enabled=(Level.READ,))
    if override is not None and override in permissions.enabled:
        return replace(permissions, default=override), tuple(warnings)
    if override is not None:
        warnings.append(f"the level '{override}' is not enabled in [permissions]; the default is used")
    if permissions.default not in permissions.enabled:
        fallback = (
            Level.READ if Level.READ in permissions.enabled else min(permissions.enabled, key=ORDER.index)
        )
        warnings.append(f"permissions.default is not enabled; '{fallback}' is used")
        permissions = replace(permissions, default=fallback)
    return permissions, tuple(warnings)


def unmatched_tool_names(config: Config, known: Iterable[str]) -> tuple[str, ...]:
    """Warnings for names in `[tools]` that are no built-in tool."""
    tools, names = config.tools, frozenset(known)
    lists: Mapping[str, Iterable[str]] = {
        "allowed_tools": tools.allowed_tools,
        "disabled_tools": tools.disabled_tools,
        "tool_permissions": tools.tool_permissions,
    }
    return tuple(
        f"tools.{key} names '{name}', which is no tool"
        for key, entries in lists.items()
        for name in entries
        if name not in names
    )

"""Accounts and profiles as others ask for them: which one, what it resolves to, why it cannot run.

Pure rules over a `Config`; the sentences are the ones the API and the command line share.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from meka.base.errors import ConfigurationError
from meka.config.backends import (
    FACTS,
    Backend,
    BackendFacts,
    Credential,
    backend_names,
    facts_of,
    normalize_base_url,
)
from meka.config.model import (
    DEFAULT_CONTEXT_WINDOW,
    DEFAULT_THINKING_BUDGET,
    Account,
    Config,
    DeferredTools,
    Profile,
    ThinkingDisplay,
    ThinkingMode,
)


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """A profile with everything a provider needs, defaults filled in; the credential is the store's.

    Field names are those of `meka.agent.providers.base.ProviderSettings` where it has them.
    Units: tokens, bytes.
    """

    name: str
    account: str
    backend: str
    base_url: str
    model: str
    context_window: int
    credential: Credential
    max_output_tokens: int | None
    effort: str | None
    vision: bool
    thinking: str
    thinking_budget: int
    thinking_display: str
    deferred_tools: str | None
    max_request_bytes: int | None
    interleaved_thinking: bool
    prompt_cache_key: bool
    stream_usage: bool
    max_tool_name_bytes: int | None
    oauth_token_url: str
    client_id: str | None
    device_id: str = field(repr=False)
    fallbacks: tuple[str, ...]


def select_profile(config: Config, named: str | None = None) -> str:
    """The profile of a session that names `named` (or none): that one, the default, or the sole one.

    `config.default_profile` already stands for `--profile` (see `with_default_profile`).
    Raises: ConfigurationError.
    """
    wanted = named if named is not None else config.default_profile
    if wanted is not None:
        if wanted not in config.profiles:
            raise ConfigurationError(unknown_profile(config, wanted))
        return wanted
    if not config.profiles:
        raise ConfigurationError(
            "no profile configured; add one with `meka profile add` or POST /v1/profiles"
        )
    if len(config.profiles) > 1:
        raise ConfigurationError(
            "several profiles are configured and no default_profile; name one with `meka profile use NAME` "
            f"(configured: {_listed(config.profiles)})"
        )
    return next(iter(config.profiles))


def unknown_profile(config: Config, name: str) -> str:
    """The sentence for a profile that is not there."""
    return unknown_name("profile", config.profiles, name)


def unknown_name(noun: str, configured: Mapping[str, object], name: str) -> str:
    """The sentence for a `noun` that is not among those configured."""
    return f"no {noun} named '{name}' (configured: {_listed(configured)})"


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names) or "none"


def profile_view(config: Config, name: str) -> dict[str, Any]:
    """A profile as a listing shows it; `active` marks the one a session gets that names none."""
    profile = config.profiles[name]
    account = config.accounts.get(profile.account)
    optional = {"backend": account.backend if account else None, "model": profile.model}
    view = {"name": name, "account": profile.account, "vision": takes_images(profile)}
    return view | _present(optional) | {"active": name == _active_profile(config)}


def _active_profile(config: Config) -> str | None:
    try:
        return select_profile(config)
    except ConfigurationError:
        return None


def profile_detail(config: Config, name: str) -> dict[str, Any]:
    """A profile with every setting that it states."""
    profile = config.profiles[name]
    stated = replace(profile, fallbacks=fallback_names(profile))
    return profile_view(config, name) | _present(asdict(stated))


def account_view(name: str, account: Account, authenticated: str) -> dict[str, Any]:
    """An account with every setting that it states; `authenticated` is `yes`, `no` or `unreadable`."""
    return {"name": name} | _present(asdict(account)) | {"authenticated": authenticated}


def _present(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is stated, in JSON's types."""
    stated = {key: value for key, value in settings.items() if value is not None and value != ()}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in stated.items()}


def profile_defect(config: Config, name: str) -> str | None:
    """Why the profile could not run on what the file says, or None."""
    profile = config.profiles[name]
    account = config.accounts.get(profile.account)
    if account is None:
        return f"profile '{name}' is on the account '{profile.account}', which is not configured"
    return (
        backend_defect(profile.account, account)
        or model_defect(name, profile)
        or budget_defect(config, name, profile, account)
    )


def backend_defect(name: str, account: Account) -> str | None:
    """Why an account's backend cannot serve, or None."""
    if facts_of(account.backend) is not None:
        return None
    return f"account '{name}' names the backend '{account.backend}', which is none of {backend_names()}"


def model_defect(name: str, profile: Profile) -> str | None:
    """Why a profile has nothing to ask, or None."""
    return None if (profile.model or "").strip() else f"profile '{name}' has no model"


def budget_defect(config: Config, name: str, profile: Profile, account: Account) -> str | None:
    """Whether a stated output cap leaves no room beside the thinking budget; the sentence, or None."""
    facts = facts_of(account.backend)
    budget = thinking_budget(config, profile)
    if facts is None or not facts.is_anthropic or profile.thinking is not ThinkingMode.BUDGETED:
        return None
    if profile.max_output_tokens is None or profile.max_output_tokens > budget:
        return None
    return (
        f"profile '{name}': max_output_tokens ({profile.max_output_tokens}) must exceed "
        f"the thinking budget ({budget})"
    )


def fallback_names(profile: Profile) -> tuple[str, ...]:
    """The fallbacks as they are tried: trimmed, blank ones dropped, once each."""
    return tuple(dict.fromkeys(name for name in map(str.strip, profile.fallbacks) if name))


def fallbacks_defect(config: Config, name: str) -> str | None:
    """Why the profile's fallback chain could not run, or None."""
    for fallback in fallback_names(config.profiles[name]):
        if fallback not in config.profiles:
            return f"profile '{name}' falls back to '{fallback}', which is no profile"
        defect = profile_defect(config, fallback)
        if defect is not None:
            return f"profile '{name}' cannot fall back to '{fallback}': {defect}"
    return None


def thinking_budget(config: Config, profile: Profile) -> int:
    """The budget in force, in tokens."""
    return profile.thinking_budget or config.thinking.budget or DEFAULT_THINKING_BUDGET


def context_window(config: Config, profile: Profile) -> int:
    """The window in force, in tokens."""
    return profile.context_window or config.session.context_window or DEFAULT_CONTEXT_WINDOW


def takes_images(profile: Profile) -> bool:
    """Whether the profile's model reads images."""
    return profile.vision is not False


def resolve_profile(config: Config, name: str) -> ResolvedProfile:
    """What a provider for `name` is built from. Raises: ConfigurationError when it could not run."""
    if name not in config.profiles:
        raise ConfigurationError(unknown_profile(config, name))
    defect = profile_defect(config, name)
    if defect is not None:
        raise ConfigurationError(defect)
    profile = config.profiles[name]
    return _resolved(config, name, profile, config.accounts[profile.account])


def _resolved(config: Config, name: str, profile: Profile, account: Account) -> ResolvedProfile:
    backend = Backend(account.backend)
    facts = FACTS[backend]
    return ResolvedProfile(
        name=name,
        account=profile.account,
        backend=backend,
        base_url=normalize_base_url(backend, account.base_url),
        model=profile.model or "",
        context_window=context_window(config, profile),
        credential=facts.credential,
        max_output_tokens=profile.max_output_tokens,
        effort=(profile.effort or "").strip().lower() or facts.effort,
        vision=takes_images(profile),
        thinking=profile.thinking or ThinkingMode.ADAPTIVE,
        thinking_budget=thinking_budget(config, profile),
        thinking_display=profile.thinking_display or ThinkingDisplay.SUMMARIZED,
        deferred_tools=_native_deferral(profile, facts),
        max_request_bytes=profile.max_request_bytes or facts.max_request_bytes,
        interleaved_thinking=account.interleaved_thinking is not False,
        prompt_cache_key=account.prompt_cache_key is True,
        stream_usage=account.stream_usage is not False,
        max_tool_name_bytes=account.max_tool_name_bytes,
        oauth_token_url=account.oauth_token_url or facts.oauth_token_url,
        client_id=account.client_id,
        device_id=(account.device_id or "").strip() if "device_id" in facts.account_keys else "",
        fallbacks=tuple(other for other in fallback_names(profile) if other != name),
    )


def _native_deferral(profile: Profile, facts: BackendFacts) -> DeferredTools | None:
    return profile.deferred_tools if "deferred_tools" in facts.profile_keys else None

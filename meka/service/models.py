"""From a profile to a provider: settings resolved, credential fetched, driver built once and shared."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from meka.agent.lineup import StandIn
from meka.agent.providers.base import Provider, ProviderSettings
from meka.agent.providers.build import ProviderSettingsError, build_provider
from meka.agent.providers.subscription import AccessToken
from meka.base.errors import ConfigurationError, InternalError, MekaError
from meka.config.backends import Backend, Credential, facts_of
from meka.config.catalog import ResolvedProfile, resolve_profile, select_profile, unknown_profile
from meka.config.model import Config
from meka.service.access_tokens import AccessTokens
from meka.service.local_model import LocalModel
from meka.service.oauth import client_of
from meka.store import credentials, renames
from meka.store.credentials import CredentialKind
from meka.store.database import Database

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """A profile that can be run: its resolved settings and the provider behind it."""

    profile: ResolvedProfile
    provider: Provider


class Models:
    """The catalog in force. `override` (a scripted provider) stands in for every profile's own; `device_of`
    gives a subscription account that states no device the one it is to name."""

    def __init__(
        self,
        catalog: Callable[[], Config],
        database: Database,
        local: LocalModel,
        tokens: AccessTokens,
        device_of: Callable[[str], str],
        override: Provider | None = None,
    ) -> None:
        self._catalog = catalog
        self._database = database
        self._local = local
        self._tokens = tokens
        self._device_of = device_of
        self._override = override
        self._built: dict[str, tuple[ProviderSettings, Provider]] = {}

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._catalog()

    def select(self, named: str | None) -> str:
        """The profile of a new session. Raises: ConfigurationError with the configuration's own sentence."""
        return select_profile(self.config, named)

    def require(self, name: str) -> str:
        """The profile of that name. Raises: ConfigurationError when it is not configured."""
        if name not in self.config.profiles:
            raise ConfigurationError(unknown_profile(self.config, name))
        return name

    def get(self, name: str) -> Model:
        """The model behind a profile. Raises: ConfigurationError when the profile cannot run."""
        profile = resolve_profile(self.config, name)
        return Model(profile, self._override or self._provider(profile))

    def of_session(self, name: str) -> Model:
        """The model behind the profile that a session's row names, renamed in a shell or not.

        The name may be one that comes into force with the next reload; until then the one before is in force.

        Raises: ConfigurationError when the profile cannot run.
        """
        known = self.config.profiles
        if name not in known:
            name = self._database.read(lambda tx: renames.earlier_name(tx, name, known)) or name
        return self.get(name)

    def stand_ins(self, model: Model) -> Iterator[StandIn]:
        """The fallbacks of a model's profile that can run, in order; each is built when it is asked for."""
        for named in model.profile.fallbacks:
            name = self._later_name(named)
            try:
                found = self.get(name)
            except MekaError as error:
                LOG.warning("a fallback profile cannot run: %s", error.detail, extra={"profile": name})
                continue
            yield StandIn(name, found.profile.vision, found.provider)

    def _later_name(self, name: str) -> str:
        """What a fallback is called by now: a resident session has the names of when it was loaded."""
        known = self.config.profiles
        if name in known:
            return name
        return self._database.read(lambda tx: renames.later_name(tx, name, known)) or name

    def _provider(self, profile: ResolvedProfile) -> Provider:
        settings = _settings(profile, self._api_key(profile), self._device(profile))
        built = self._built.get(profile.name)
        if built is None or built[0] != settings:
            built = (settings, self._build(settings))
            self._built[profile.name] = built
        return built[1]

    def _build(self, settings: ProviderSettings) -> Provider:
        """The driver. A `base_url` that its backend refuses is the operator's to mend: it goes to the log."""
        try:
            return build_provider(
                settings,
                local_endpoint=lambda: self._local.endpoint(settings.model),
                access_token=self._access_token(settings.account),
            )
        except ProviderSettingsError:
            LOG.exception("an account cannot be served", extra={"account": settings.account})
            raise InternalError from None

    def _access_token(self, name: str) -> AccessToken | None:
        account = self.config.accounts.get(name)
        facts = facts_of(account.backend) if account is not None else None
        if account is None or facts is None or facts.credential is not Credential.OAUTH:
            return None
        return self._tokens.source(name, client_of(name, account))

    def _device(self, profile: ResolvedProfile) -> str:
        """What requests name as the device; a subscription that states none is given one."""
        if profile.backend != Backend.CLAUDE_SUBSCRIPTION:
            return ""
        return profile.device_id or self._device_of(profile.account)

    def _api_key(self, profile: ResolvedProfile) -> str:
        if profile.credential is Credential.NONE or self._override is not None:
            return ""
        stored = self._database.read(lambda tx: credentials.get(tx, profile.account))
        if stored is None:
            raise ConfigurationError(
                f"account '{profile.account}' has no credential; run `meka account login {profile.account}`"
            )
        if stored.kind.value != profile.credential.value:
            raise ConfigurationError(
                f"account '{profile.account}' holds a credential of another kind than its backend "
                f"'{profile.backend}' presents; run `meka account login {profile.account}`"
            )
        return "" if stored.kind is CredentialKind.OAUTH else str(stored.secret["api_key"])


def _settings(profile: ResolvedProfile, api_key: str, device_id: str) -> ProviderSettings:
    return ProviderSettings(
        backend=profile.backend,
        base_url=profile.base_url,
        api_key=api_key,
        model=profile.model,
        account=profile.account,
        device_id=device_id,
        max_output_tokens=profile.max_output_tokens,
        effort=profile.effort,
        vision=profile.vision,
        thinking=profile.thinking,
        thinking_budget=profile.thinking_budget,
        thinking_display=profile.thinking_display,
        max_request_bytes=profile.max_request_bytes,
        interleaved_thinking=profile.interleaved_thinking,
        prompt_cache_key=profile.prompt_cache_key,
        stream_usage=profile.stream_usage,
        max_tool_name_bytes=profile.max_tool_name_bytes,
        deferred_tools=profile.deferred_tools,
    )

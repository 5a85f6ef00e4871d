"""Which profile a session gets, and what it resolves to."""

from dataclasses import fields
from pathlib import Path

import pytest

from meka.agent.providers.base import ProviderSettings
from meka.base.errors import ConfigurationError
from meka.config.backends import FACTS, Backend, Credential, normalize_base_url
from meka.config.catalog import (
    ResolvedProfile,
    account_view,
    profile_detail,
    profile_view,
    resolve_profile,
    select_profile,
)
from meka.config.load import load_text
from meka.config.model import Account, Config, Profile


def config_of(text: str) -> Config:
    return load_text(text, Path("/c"), {}, serving=False).config


ACCOUNTS = (
    '[accounts.a]\nbackend = "anthropic-messages"\nbase_url = " https://g.example/v1/ "\n'
    "interleaved_thinking = false\nmax_tool_name_bytes = 40\n"
    '[accounts.c]\nbackend = "openai-chat-completions"\nbase_url = "https://o.example/v1/"\n'
    "prompt_cache_key = true\nstream_usage = false\n"
)


def sentence(config: Config, named: str | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        select_profile(config, named)
    assert caught.value.status == 422
    return caught.value.detail


def test_named_profile_stands_above_the_default() -> None:
    config = Config(default_profile="b", profiles={"a": Profile("x"), "b": Profile("x")})
    assert select_profile(config, "a") == "a"
    assert select_profile(config) == "b"


def test_sole_profile_needs_no_default() -> None:
    assert select_profile(Config(profiles={"only": Profile("x")})) == "only"


def test_selection_fails_with_its_sentence() -> None:
    two = {"a": Profile("x"), "b": Profile("x")}
    assert sentence(Config()).startswith("no profile configured")
    assert sentence(Config(profiles=two)) == (
        "several profiles are configured and no default_profile; name one with `meka profile use NAME` "
        "(configured: a, b)"
    )
    assert sentence(Config(profiles=two), "x") == "no profile named 'x' (configured: a, b)"
    assert sentence(Config(profiles=two, default_profile="y")) == "no profile named 'y' (configured: a, b)"
    assert sentence(Config(), "x") == "no profile named 'x' (configured: none)"


def test_profile_resolves_with_every_default() -> None:
    resolved = resolve_profile(config_of(ACCOUNTS + '[profiles.p]\naccount = "a"\nmodel = "m"\n'), "p")
    assert resolved == ResolvedProfile(
        name="p",
        account="a",
        backend="anthropic-messages",
        base_url="https://g.example",
        model="m",
        context_window=1_000_000,
        credential=Credential.API_KEY,
        max_output_tokens=None,
        effort=None,
        vision=True,
        thinking="adaptive",
        thinking_budget=16_000,
        thinking_display="summarized",
        deferred_tools=None,
        max_request_bytes=31_457_280,
        interleaved_thinking=False,
        prompt_cache_key=False,
        stream_usage=True,
        max_tool_name_bytes=40,
        oauth_token_url="",
        client_id=None,
        device_id="",
        fallbacks=(),
    )


def test_profile_resolves_what_it_states() -> None:
    config = config_of(
        ACCOUNTS + '[profiles.p]\naccount = "c"\nmodel = "m"\neffort = " HIGH "\nvision = false\n'
        'max_request_bytes = 5\nfallbacks = [" q ", "", "q", "p"]\n'
        '[profiles.q]\naccount = "a"\nmodel = "m"\ndeferred_tools = "native"\n'
        "[thinking]\nbudget = 7\n[session]\ncontext_window = 9\n"
    )
    resolved = resolve_profile(config, "p")
    assert (resolved.effort, resolved.vision, resolved.max_request_bytes) == ("high", False, 5)
    assert (resolved.prompt_cache_key, resolved.stream_usage) == (True, False)
    assert (resolved.thinking_budget, resolved.context_window) == (7, 9)
    assert (resolved.base_url, resolved.fallbacks) == ("https://o.example/v1", ("q",))
    assert resolve_profile(config, "q").deferred_tools == "native"


@pytest.mark.parametrize(("stated", "sent"), [("", "medium"), (' effort = "low"', "low")])
def test_subscription_of_claude_states_an_effort_in_any_case(stated: str, sent: str) -> None:
    accounts = '[accounts.s]\nbackend = "claude-subscription"\n[profiles.p]\naccount = "s"\nmodel = "m"\n'
    assert resolve_profile(config_of(accounts + stated.strip()), "p").effort == sent


def test_openai_profile_has_no_request_ceiling_of_its_own() -> None:
    config = config_of(ACCOUNTS + '[profiles.p]\naccount = "c"\nmodel = "m"\n')
    assert resolve_profile(config, "p").max_request_bytes is None


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ('account = "gone"\nmodel = "m"\n', "profile 'p' is on the account 'gone', which is not configured"),
        ('account = "a"\n', "profile 'p' has no model"),
        ('account = "a"\nmodel = " "\n', "profile 'p' has no model"),
    ],
)
def test_profile_that_cannot_run_is_refused_when_a_session_comes(profile: str, said: str) -> None:
    config = config_of(ACCOUNTS + "[profiles.p]\n" + profile)
    with pytest.raises(ConfigurationError) as caught:
        resolve_profile(config, "p")
    assert caught.value.detail == said


def test_unknown_profile_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no profile named 'x'"):
        resolve_profile(Config(), "x")


def test_settings_of_a_provider_can_all_be_filled() -> None:
    """What a driver takes is either resolved here, a credential, or the driver's own timing."""
    ours = {field.name for field in fields(ResolvedProfile)}
    theirs = {field.name for field in fields(ProviderSettings)}
    assert theirs - ours <= {"api_key", "silence_seconds", "connect_seconds", "extra"}


@pytest.mark.parametrize("backend", list(Backend))
def test_every_backend_has_facts(backend: Backend) -> None:
    facts = FACTS[backend]
    assert bool(facts.base_url) == (backend is not Backend.LOCAL)
    assert bool(facts.oauth_token_url) == (facts.credential is Credential.OAUTH)
    assert {"account", "model"} <= facts.profile_keys


@pytest.mark.parametrize(
    ("backend", "stated", "used"),
    [
        (Backend.ANTHROPIC_MESSAGES, None, "https://api.anthropic.com"),
        (Backend.ANTHROPIC_MESSAGES, "https://x/v1", "https://x"),
        (Backend.ANTHROPIC_MESSAGES, "https://x/v1/v1/", "https://x/v1"),
        (Backend.OPENAI_RESPONSES, "https://x/v1/", "https://x/v1"),
        (Backend.OPENAI_RESPONSES, " ", "https://api.openai.com/v1"),
    ],
)
def test_base_url_is_normalized(backend: Backend, stated: str | None, used: str) -> None:
    assert normalize_base_url(backend, stated) == used


def test_profile_is_viewed_as_a_listing_shows_it() -> None:
    config = Config(
        default_profile="p",
        accounts={"a": Account("local")},
        profiles={"p": Profile("a", "m", vision=False), "q": Profile("gone")},
    )
    assert profile_view(config, "p") == {
        "name": "p", "account": "a", "backend": "local", "model": "m", "vision": False, "active": True,
    }  # fmt: skip
    assert profile_view(config, "q") == {"name": "q", "account": "gone", "vision": True, "active": False}


def test_details_hold_every_setting_that_is_stated() -> None:
    config = Config(
        accounts={"a": Account("local")}, profiles={"p": Profile("a", "m", effort="x", fallbacks=(" ",))}
    )
    detail = profile_detail(config, "p")
    assert detail["effort"] == "x"
    assert "fallbacks" not in detail
    assert "thinking" not in detail
    assert account_view("a", Account("openai-responses", stream_usage=False), "no") == {
        "name": "a", "backend": "openai-responses", "stream_usage": False, "authenticated": "no",
    }  # fmt: skip

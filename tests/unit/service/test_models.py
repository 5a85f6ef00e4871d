"""From a profile to its provider: what of an account and a profile reaches the driver."""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meka.config.decode import decode
from meka.config.model import Config
from meka.service.access_tokens import AccessTokens
from meka.service.local_model import LocalModel
from meka.service.models import Models
from meka.store import credentials
from meka.store.credentials import CredentialKind
from meka.store.database import Database
from tests.fakes import FakeClock

TEXT = """
[accounts.key]
backend = "anthropic-messages"

[accounts.pro]
backend = "claude-subscription"
client_id = "ours"

[profiles.plain]
account = "key"
model = "m"

[profiles.native]
account = "key"
model = "m"
deferred_tools = "native"

[profiles.sub]
account = "pro"
model = "m"
deferred_tools = "native"
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "meka.db", clock=FakeClock()) as opened:
        bundle = {"access_token": "t", "refresh_token": "r", "expires_at_ms": 32_503_680_000_000}
        opened.write(lambda tx: credentials.put(tx, "key", CredentialKind.API_KEY, {"api_key": "k"}))
        opened.write(lambda tx: credentials.put(tx, "pro", CredentialKind.OAUTH, bundle))
        yield opened


def models(database: Database, tmp_path: Path, text: str, device_of: Callable[[str], str]) -> Models:
    clock, config = FakeClock(), decode(Config, tomllib.loads(text), ())
    tokens = AccessTokens(database, tmp_path, clock)
    return Models(lambda: config, database, LocalModel(clock), tokens, device_of)


def test_provider_expands_references_where_its_profile_says_so(database: Database, tmp_path: Path) -> None:
    made = models(database, tmp_path, TEXT, lambda _account: "d")
    expands = {name: made.get(name).provider.expands_references for name in ("plain", "native", "sub")}
    assert expands == {"plain": False, "native": True, "sub": True}


def test_device_is_asked_for_only_where_a_subscription_states_none(
    database: Database, tmp_path: Path
) -> None:
    asked: list[str] = []

    def device_of(account: str) -> str:
        asked.append(account)
        return "made"

    made = models(database, tmp_path, TEXT, device_of)
    made.get("plain")
    assert made.get("sub").provider is made.get("sub").provider
    assert set(asked) == {"pro"}
    stated = TEXT.replace('"ours"', '"ours"\ndevice_id = "desk"')
    asked.clear()
    models(database, tmp_path, stated, device_of).get("sub")
    assert asked == []

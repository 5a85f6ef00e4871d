"""Writes of the installation: undone where they fail, never served where they cannot be."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from peewee import IntegrityError

from meka.base.errors import ConfigurationError, StoreUnavailableError
from meka.bootstrap import Core
from meka.config.draft import Draft
from meka.service.services import Services
from meka.store import credentials
from tests.unit.service.installing import CONFIG, config_of, installed

TEXT = CONFIG.format(token_url="http://127.0.0.1:1/token")
SECRET = "sk-of-nobody"
KEYED = {"name": "new", "backend": "anthropic-messages", "api_key": "k"}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    with installed(tmp_path, TEXT) as core:
        yield core


def change(draft: Draft) -> str:
    draft.set(("profiles", "main", "model"), "changed")
    return "answer"


def test_write_is_served_when_it_returns(core: Core, tmp_path: Path) -> None:
    assert core.services.installation.write(change) == "answer"
    assert config_of(tmp_path).read_text() == TEXT.replace('model = "m"', 'model = "changed"')
    assert core.in_force.config.profiles["main"].model == "changed"


def test_write_that_fails_partway_puts_the_file_back_and_serves_nothing(core: Core, tmp_path: Path) -> None:
    served = core.in_force.loaded

    def fail() -> None:
        assert config_of(tmp_path).read_text() != TEXT
        raise StoreUnavailableError

    with pytest.raises(StoreUnavailableError):
        core.services.installation.write(change, fail)
    assert config_of(tmp_path).read_text() == TEXT
    assert core.in_force.loaded is served
    assert core.services.installation.write(change) == "answer"


@contextmanager
def refused(core: Core, statement: str) -> Iterator[None]:
    """The store refuses one kind of statement meanwhile."""
    with closing(sqlite3.connect(core.database.path)) as other:
        other.execute(f"CREATE TRIGGER no BEFORE {statement} BEGIN SELECT RAISE(ABORT, 'no'); END")
        other.commit()
        yield
        other.execute("DROP TRIGGER no")
        other.commit()


@pytest.mark.parametrize(
    ("statement", "write"),
    [
        ("INSERT ON account_credentials", lambda services: services.accounts.add(KEYED)),
        ("UPDATE ON account_credentials", lambda services: services.accounts.rename("keyed", "other")),
        ("UPDATE ON sessions", lambda services: services.profiles.patch("main", {"name": "other"})),
    ],
)
def test_write_whose_part_in_the_store_fails_leaves_no_trace(
    core: Core, tmp_path: Path, statement: str, write: Callable[[Services], object]
) -> None:
    services = core.services
    services.accounts.add({**KEYED, "name": "keyed"})
    session = services.sessions.create({"working_directory": str(tmp_path), "profile": "main"}, None)
    before, served = config_of(tmp_path).read_text(), core.in_force.loaded
    with refused(core, statement), pytest.raises(IntegrityError):
        write(services)
    assert config_of(tmp_path).read_text() == before
    assert core.in_force.loaded is served
    assert core.database.read(credentials.list_names) == ["keyed"]
    runtime = core.registry.get(str(session["id"]))
    assert runtime is not None
    assert runtime.row.profile == "main"
    write(services)
    assert config_of(tmp_path).read_text() != before


def test_failed_write_of_the_first_file_leaves_none(tmp_path: Path) -> None:
    with installed(tmp_path, None) as core:

        def fail() -> None:
            raise StoreUnavailableError

        with pytest.raises(StoreUnavailableError):
            core.services.installation.write(lambda draft: draft.set(("default_profile",), "x"), fail)
        assert not config_of(tmp_path).exists()


def test_undo_leaves_what_a_shell_wrote_since(core: Core, tmp_path: Path) -> None:
    def edit_and_fail() -> None:
        config_of(tmp_path).write_text(TEXT + "# By another hand.\n")
        raise StoreUnavailableError

    with pytest.raises(StoreUnavailableError):
        core.services.installation.write(change, edit_and_fail)
    assert config_of(tmp_path).read_text() == TEXT + "# By another hand.\n"


def test_shells_edit_between_a_write_and_its_serving_is_served_along(core: Core, tmp_path: Path) -> None:
    path, late = config_of(tmp_path), '\n[profiles.late]\naccount = "gpt"\nmodel = "l"\n'
    core.services.installation.write(change, lambda: path.write_text(path.read_text() + late))
    assert core.in_force.config.profiles["late"].model == "l"


def test_write_is_not_served_when_a_shell_breaks_the_file_before(core: Core, tmp_path: Path) -> None:
    path, served = config_of(tmp_path), core.in_force.loaded
    with pytest.raises(ConfigurationError, match="the change is written and not served") as caught:
        core.services.installation.write(
            change, lambda: path.write_text(f"{path.read_text()}key = {SECRET}\n")
        )
    assert "line 15" in caught.value.detail
    assert SECRET not in caught.value.detail
    assert core.in_force.loaded is served
    assert "changed" in path.read_text()


@pytest.mark.parametrize(
    "line",
    [
        f"x = {SECRET}",
        f'x = "{SECRET}',
        f'client_id = "{SECRET}"\nclient_id = "{SECRET}"',
        f'model = ["{SECRET}"]',
        f'effort = "{SECRET}"\n[session]\nretention = "{SECRET}"',
        f'context_window = "{SECRET}"',
        f'thinking = "{SECRET}"',
        f'[serve]\nbind = "{SECRET}"',
        f'[serve]\ncors_allowed_origins = ["{SECRET}"]',
        f'[web]\nproxy = "http://{SECRET}@:x"',
        f'[web]\nca_cert_file = "/nowhere"\nuser_agent = "{SECRET}"',
        f'[[mcp.servers]]\nname = "x"\ntransport = "http"\nurl = "{SECRET}"',
        f'[[mcp.servers]]\nname = "x"\ntransport = "http"\nurl = "http://h"\nenv = {{ KEY = "{SECRET}" }}',
        f'[permissions]\ndefault = "{SECRET}"',
    ],
)
def test_file_that_cannot_be_served_is_named_by_its_line_and_never_by_its_content(
    core: Core, tmp_path: Path, line: str
) -> None:
    broken = f"{TEXT}{line}\n"
    config_of(tmp_path).write_text(broken)
    for write in (lambda: core.services.installation.write(change), core.services.installation.reload):
        with pytest.raises(ConfigurationError) as caught:
            write()
        assert "line 1" in caught.value.detail or "line 2" in caught.value.detail
        assert SECRET not in caught.value.detail
    assert config_of(tmp_path).read_text() == broken
    assert core.in_force.config.profiles["main"].model == "m"


def test_removal_that_failed_halfway_is_finished_by_removing_again(core: Core, tmp_path: Path) -> None:
    accounts = core.services.accounts
    accounts.add(KEYED)
    with refused(core, "DELETE ON account_credentials"), pytest.raises(IntegrityError):
        accounts.remove("new")
    accounts.remove("new")
    assert core.database.read(credentials.list_names) == []
    assert config_of(tmp_path).read_text() == TEXT
    assert "new" not in core.in_force.config.accounts


def test_instructions_that_cannot_be_read_leave_those_in_force(
    core: Core, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    core.services.installation.write_instructions("Be kind.")
    (tmp_path / "config" / "instructions.md").write_bytes(b"\xff")
    with caplog.at_level(logging.WARNING):
        core.services.installation.reload()
    assert core.in_force.instructions.content == "Be kind."
    assert "not UTF-8" in caplog.text

"""Devices of subscriptions: written once, shared by whoever asks, and kept where they cannot be written."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pytest

from meka.base.errors import ConfigurationError
from meka.composition import Core
from meka.config.draft import Draft
from meka.service.devices import Devices
from tests.unit.service.installing import CONFIG, config_of, installed

TEXT = CONFIG.format(token_url="http://127.0.0.1:1/token")


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    with installed(tmp_path, TEXT) as core:
        yield core


def devices(core: Core) -> Devices:
    return Devices(core.services.installation.amend)


def state(core: Core) -> bool:
    return bool(core.services.installation.state()["config_changed"])


def test_device_is_written_into_the_account_and_counts_as_read(core: Core, tmp_path: Path) -> None:
    made = devices(core).of("pro")
    assert len(bytes.fromhex(made)) == 32
    after = f'client_id = "ours"\noauth_token_url = "http://127.0.0.1:1/token"\ndevice_id = "{made}"\n'
    assert config_of(tmp_path).read_text() == TEXT.replace(after.partition("device_id")[0], after, 1)
    assert core.in_force.config.accounts["pro"].device_id == made
    assert core.in_force.config.accounts["gpt"].device_id is None
    assert not state(core)


def test_those_who_ask_at_once_get_the_same_device(core: Core, tmp_path: Path) -> None:
    askers = [gevent.spawn(each.of, "pro") for each in (devices(core), devices(core)) for _ in range(3)]
    gevent.joinall(askers, raise_error=True)
    assert len({asker.value for asker in askers}) == 1
    assert config_of(tmp_path).read_text().count("device_id") == 1


def test_who_asks_and_is_killed_leaves_the_write_to_end(core: Core, tmp_path: Path) -> None:
    made = devices(core)
    asker = gevent.spawn(made.of, "pro")
    gevent.idle()
    asker.kill()
    assert made.of("pro") in config_of(tmp_path).read_text()


def test_what_a_shell_changed_is_not_served_along(core: Core, tmp_path: Path) -> None:
    path, served = config_of(tmp_path), core.in_force.loaded
    path.write_text(TEXT.replace('model = "m"', 'model = "by-hand"'))
    made = devices(core).of("pro")
    assert f'device_id = "{made}"' in path.read_text()
    assert 'model = "by-hand"' in path.read_text()
    assert core.in_force.loaded is served
    assert state(core)
    assert devices(core).of("pro") == made


def test_device_that_cannot_be_written_lasts_as_long_as_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def amend(_change: Callable[[Draft], str]) -> str:
        raise ConfigurationError("config.toml cannot be written: Read-only file system")

    with caplog.at_level(logging.DEBUG):
        made = Devices(amend)
        assert made.of("pro") == made.of("pro") != made.of("other")
    assert [record.getMessage() for record in caplog.records] == [
        "a device could not be written into the configuration: "
        "config.toml cannot be written: Read-only file system"
    ] * 2
    assert made.of("pro") not in caplog.text


def test_file_that_does_not_parse_by_now_stays_as_it_is(core: Core, tmp_path: Path) -> None:
    config_of(tmp_path).write_text("[accounts.pro\n")
    assert len(devices(core).of("pro")) == 64
    assert config_of(tmp_path).read_text() == "[accounts.pro\n"

"""The device that meka writes into an account: in place, once, and nowhere else."""

from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.config.device import state_device
from meka.config.draft import Draft

MADE = "ab" * 32
TEXT = """# By hand.
[accounts.pro]   # mine
backend = "claude-subscription"  # the plan
client_id = "ours"

[accounts.key]
backend = "anthropic-messages"
"""


def draft(text: str) -> Draft:
    return Draft(Path("/etc/meka/config.toml"), text)


def test_device_is_written_where_there_is_none() -> None:
    opened = draft(TEXT)
    assert state_device(opened, "pro", MADE) == MADE
    assert opened.text == TEXT.replace('"ours"\n', f'"ours"\ndevice_id = "{MADE}"\n')
    assert opened.catalog().accounts["pro"].device_id == MADE


def test_blank_device_is_replaced() -> None:
    opened = draft(TEXT.replace('"ours"\n', '"ours"\ndevice_id = " "  # none yet\n'))
    assert state_device(opened, "pro", MADE) == MADE
    assert f'device_id = "{MADE}"  # none yet\n' in opened.text


def test_device_that_is_stated_stays() -> None:
    opened = draft(TEXT.replace('"ours"\n', '"ours"\ndevice_id = "desk"\n'))
    assert state_device(opened, "pro", MADE) == "desk"
    assert opened.text == opened.original


@pytest.mark.parametrize(("name", "says"), [("key", "another backend"), ("gone", "no account named 'gone'")])
def test_account_that_takes_no_device_is_left_alone(name: str, says: str) -> None:
    opened = draft(TEXT)
    with pytest.raises(ConfigurationError, match=says):
        state_device(opened, name, MADE)
    assert opened.text == opened.original

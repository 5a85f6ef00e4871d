"""The device of a Claude subscription's account: the one setting that meka writes by itself."""

from meka.base.errors import ConfigurationError
from meka.config.backends import Backend
from meka.config.draft import Draft
from meka.config.edit import ACCOUNT_ORDER, require_account


def state_device(draft: Draft, name: str, device_id: str) -> str:
    """The device that the account states; `device_id` from now on, where it stated none.

    Raises: ConfigurationError.
    """
    require_account(draft, name)
    table = draft.section("accounts")[name]
    if table.get("backend") != Backend.CLAUDE_SUBSCRIPTION:
        raise ConfigurationError(f"account '{name}' is on another backend by now")
    stated = str(table.get("device_id", "")).strip()
    if not stated:
        draft.set(("accounts", name, "device_id"), device_id, ACCOUNT_ORDER)
    return stated or device_id

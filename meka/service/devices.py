"""The devices that requests of a Claude subscription name, for accounts that state none."""

import logging
import secrets
from collections.abc import Callable

import gevent
from gevent.lock import BoundedSemaphore

from meka.base.errors import ConfigurationError
from meka.config.device import state_device
from meka.config.draft import Draft

LOG = logging.getLogger(__name__)
_DEVICE_BYTES = 32

Amend = Callable[[Callable[[Draft], str]], str]
"""Changes the configuration file, and what is in force with it. Raises: ConfigurationError."""


class Devices:
    """Makes a device up and writes it into the account, once for all processes. One instance a process."""

    def __init__(self, amend: Amend) -> None:
        self._amend = amend
        self._unwritten: dict[str, str] = {}
        self._turn = BoundedSemaphore(1)

    def of(self, account: str) -> str:
        """The device of an account; where the file cannot be written, one for as long as the process runs."""
        # Who asks may be a canceled turn's greenlet, which is killed: the write is let finish.
        writer = gevent.spawn(self._settle, account)
        writer.name = "device-writer"
        device: str = writer.get()
        return device

    def _settle(self, account: str) -> str:
        with self._turn:
            if account not in self._unwritten:
                made = secrets.token_hex(_DEVICE_BYTES)
                try:
                    return self._amend(lambda draft: state_device(draft, account, made))
                except (ConfigurationError, OSError) as error:
                    LOG.warning(
                        "a device could not be written into the configuration: %s",
                        error.detail if isinstance(error, ConfigurationError) else error.strerror,
                        extra={"account": account},
                    )
                    self._unwritten[account] = made
            return self._unwritten[account]

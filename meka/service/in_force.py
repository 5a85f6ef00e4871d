"""The configuration in force: read whole, and put in force whole, at start-up, a write or a reload."""

from collections.abc import Callable
from datetime import datetime

from meka.base.clock import Clock
from meka.config.instructions import StandingInstructions
from meka.config.load import LoadedConfig
from meka.config.model import Config


class InForce:
    """What sessions and requests resolve against now; `observers` are told of each change of it."""

    def __init__(self, loaded: LoadedConfig, instructions: StandingInstructions, clock: Clock) -> None:
        self.started = loaded
        self.observers: list[Callable[[LoadedConfig], None]] = []
        self._clock = clock
        self.put(loaded, instructions)

    def put(self, loaded: LoadedConfig, instructions: StandingInstructions) -> None:
        """Serve this from now on."""
        self.loaded = loaded
        self.loaded_at: datetime = self._clock.now()
        self.instructions = instructions
        for observer in self.observers:
            observer(loaded)

    @property
    def config(self) -> Config:
        """The configuration, flags and environment applied."""
        return self.loaded.config

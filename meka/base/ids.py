"""Identifiers, as something that is handed over: random ones, or a test's."""

import uuid
from typing import Protocol


class Ids(Protocol):
    """Where new identifiers come from."""

    def new(self) -> str:
        """A fresh UUID as text: sessions, turns, inbox items."""


class RandomIds:
    """UUID version 4, from the system's randomness."""

    def new(self) -> str:
        return str(uuid.uuid4())

"""What the tests of tools are handed."""

import os
import time

import pytest


@pytest.fixture
def mark() -> str:
    """A duration for `sleep` that no other process has, to find the command's children by."""
    return f"{1000 + os.getpid() % 1000}.{time.monotonic_ns() % 10**9:09d}"

"""An open store in a directory of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from meka.store.database import Database
from tests.unit.store.support import SetClock


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "meka.db"


@pytest.fixture
def database(path: Path, clock: SetClock) -> Iterator[Database]:
    with Database.open(path, clock=clock) as opened:
        yield opened

"""What the tests of the store share: a clock that is told the time, sessions by name, child processes."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from meka.store import sessions
from meka.store.connection import Tx
from meka.store.sessions import SessionRow

ROOT = Path(__file__).parents[3]
START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class SetClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def sleep(self, seconds: float) -> None:
        self.advance(seconds=seconds)

    def advance(self, **span: float) -> datetime:
        self.moment += timedelta(**span)
        return self.moment


def new_session(tx: Tx, session_id: str, **fields: Any) -> SessionRow:
    """A session that differs from any other only in what the test names."""
    values = {"working_directory": "/work", "permission": "read", "approvals": True, "profile": "main"}
    return sessions.create(tx, session_id, **values | fields)


def start_child(script: str, *arguments: str) -> "subprocess.Popen[str]":
    """A Python of our own on `script`, its output on pipes."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

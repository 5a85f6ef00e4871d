"""How many inbox posts a second are taken, each durable before its 202, beside what the disk can do."""

import os
import sqlite3
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import gevent

from meka.base.clock import SystemClock
from meka.store.database import Database
from tools.bench.client import BenchError, Connection
from tools.bench.report import Result
from tools.bench.rig import Rig, new_session, turn_events

SESSIONS = 32
SYNCS = 300
_PAGE = b"\0" * 4096


def measure_posts(rig: Rig, posts: int) -> list[Result]:
    """Posts to sessions that a turn holds busy, from as many clients as there are sessions."""
    syncs, commits = _syncs_a_second(rig.work), _commits_a_second(rig.work)
    with ExitStack() as stack:
        sessions = [_busy_session(stack.enter_context(rig.server.connect())) for _ in range(SESSIONS)]
        _post_all(rig, sessions, SESSIONS)
        spent, began = rig.server.cpu_seconds(), time.perf_counter()
        _post_all(rig, sessions, posts)
        seconds, spent = time.perf_counter() - began, rig.server.cpu_seconds() - spent
        _check_stored(rig, SESSIONS + posts)
    return [
        Result(
            f"inbox posts over {SESSIONS} busy sessions", posts / seconds, "posts/s", target=1000, least=True
        ),
        Result("server CPU a post", spent / posts * 1000, "ms"),
        Result("fdatasync of this disk, one after the other", syncs, "/s"),
        Result("commits of the write gate, one after the other", commits, "/s"),
    ]


def _busy_session(connection: Connection) -> str:
    """A session whose turn waits for its provider for as long as the connection is there."""
    session = new_session(connection)
    *_, _ = islice(turn_events(connection, session, "hang"), 3)
    return session


def _post_all(rig: Rig, sessions: list[str], posts: int) -> None:
    counts = [posts // SESSIONS + (number < posts % SESSIONS) for number in range(SESSIONS)]
    posters = [
        gevent.spawn(_post, rig, session, count) for session, count in zip(sessions, counts, strict=True)
    ]
    gevent.joinall(posters, raise_error=True)


def _post(rig: Rig, session: str, count: int) -> None:
    body = {"message": "short", "class": "followup"}
    with rig.server.connect() as connection:
        for _ in range(count):
            connection.call("POST", f"/v1/sessions/{session}/inbox", body)


def _check_stored(rig: Rig, posts: int) -> None:
    """What was answered with a 202 is in the store's file, as another process reads it."""
    with sqlite3.connect(f"file:{rig.store}?mode=ro", uri=True) as store:
        (stored,) = store.execute("SELECT count(*) FROM inbox_items").fetchone()
    store.close()
    if stored != posts:
        raise BenchError(f"{stored} of {posts} items are in the store")


def _syncs_a_second(directory: Path) -> float:
    with (directory / "synced").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(SYNCS):
            file.write(_PAGE)
            os.fdatasync(file.fileno())
        return SYNCS / (time.perf_counter() - began)


def _commits_a_second(directory: Path) -> float:
    with Database.open(directory / "commits.db", clock=SystemClock()) as database:
        database.write(lambda tx: tx.sql("CREATE TABLE measured (number INTEGER)"))
        began = time.perf_counter()
        for _ in range(SYNCS):
            database.write(lambda tx: tx.sql("INSERT INTO measured VALUES (1)"))
        return SYNCS / (time.perf_counter() - began)

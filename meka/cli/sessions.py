"""`meka session`: what the store holds of conversations; an id may be given by its start."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import click

from meka.base.clock import SystemClock
from meka.base.errors import MekaError, SessionLockedError, SessionNotFoundError
from meka.cli.conversations import export, fork, import_, rewind
from meka.cli.installation import Installation, pass_installation, say
from meka.cli.lookup import find_session
from meka.cli.output import format_option, print_list, print_record
from meka.service.views import session_view
from meka.store import lookup, sessions
from meka.store.database import Database
from meka.store.listing import SessionFilter, list_page
from meka.store.locks import SessionLocks
from meka.store.sessions import SessionRow

_LIVE_ONLY = frozenset({"turn_in_flight"})


@click.group()
def session() -> None:
    """List, show, copy, cut back, export, import and delete sessions."""


@session.command("list")
@click.option("-n", "limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
@click.option("--include-children", is_flag=True, help="Sub-agents' sessions too.")
@format_option
@pass_installation
def list_sessions(
    installation: Installation, /, limit: int, include_children: bool, output_format: str
) -> None:
    """List sessions, pinned ones first, then the latest."""
    where = SessionFilter(include_children=include_children)
    with installation.store() as database:
        rows, _ = database.read(lambda tx: list_page(tx, limit=limit, where=where))
    records = [record_of(row) for row in rows]
    print_list("sessions", records, output_format, ("id", "updated_at", "profile", "title"))


@session.command()
@click.argument("session_id", metavar="ID")
@format_option
@pass_installation
def show(installation: Installation, /, session_id: str, output_format: str) -> None:
    """Show one session."""
    with installation.store() as database:
        full_id = find_session(database, session_id)
        row = database.read(lambda tx: sessions.get(tx, full_id))
    if row is None:
        raise SessionNotFoundError(session_id)
    print_record(record_of(row), output_format)


def record_of(row: SessionRow) -> Mapping[str, Any]:
    """The part of a session's record that its row holds."""
    return {key: value for key, value in session_view(row, None).items() if key not in _LIVE_ONLY}


@session.command()
@click.argument("session_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--older-than-days",
    type=click.IntRange(0, 36_500),
    metavar="N",
    help="Unpinned ones N days old.",
)
@click.option("--all", "every", is_flag=True, help="Every session.")
@pass_installation
def delete(
    installation: Installation, /, session_ids: Sequence[str], older_than_days: int | None, every: bool
) -> int:
    """Delete sessions, with the sub-agents below them."""
    if sum((bool(session_ids), older_than_days is not None, every)) != 1:
        raise click.UsageError("give IDs, --older-than-days or --all, one of the three")
    with installation.store() as database:
        locks = SessionLocks(installation.places.data_dir / "locks")
        if session_ids:
            return _delete_named(database, locks, session_ids)
        for session_id in _roots(database, older_than_days):
            _delete_tree(database, locks, session_id)
    return 0


def _roots(database: Database, older_than_days: int | None) -> Sequence[str]:
    if older_than_days is None:
        return database.read(lookup.root_ids)
    before = SystemClock().now() - timedelta(days=older_than_days)
    return database.read(lambda tx: sessions.stale_roots(tx, before))


def _delete_named(database: Database, locks: SessionLocks, prefixes: Sequence[str]) -> int:
    """Each on its own: one that cannot go does not keep the others. Shape: the exit code."""
    code = 0
    for prefix in prefixes:
        try:
            deleted = _delete_tree(database, locks, find_session(database, prefix))
        except MekaError as error:
            say(f"error: {error.detail}")
            deleted = False
        code = code if deleted else 1
    return code


def _delete_tree(database: Database, locks: SessionLocks, session_id: str) -> bool:
    tree = database.read(lambda tx: sessions.tree(tx, session_id))
    held = locks.try_acquire_all(tree)
    if held is None:
        say(f"error: {SessionLockedError(session_id).detail}")
        return False
    try:
        deleted = database.write(lambda tx: sessions.delete_tree(tx, session_id))
    except BaseException:
        for lock in held.values():
            lock.release()
        raise
    for lock in held.values():
        lock.discard()
    return bool(deleted)


for command in (fork, rewind, export, import_):
    session.add_command(command)

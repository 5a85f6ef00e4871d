"""`meka session fork | rewind | export | import`: what the HTTP API does to conversations, serverless."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from meka.agent.conversation import Conversation
from meka.base.errors import InvalidBodyError, SessionLockedError, SessionNotFoundError
from meka.base.ids import RandomIds
from meka.cli.installation import Installation, pass_installation, say
from meka.cli.lookup import find_session
from meka.config.catalog import select_profile
from meka.service.archive import write_archive
from meka.service.archive_reading import ArchiveError, Terms, Unpacked, read_archive
from meka.service.archive_storing import store_archive
from meka.service.history import copy_session, cut_back
from meka.service.sessions import not_drivable
from meka.service.transcript import write_transcript
from meka.store import messages, projects, sessions
from meka.store.database import Database
from meka.store.locks import SessionLocks
from meka.store.sessions import SessionRow
from meka.wire.json_reader import JsonFaultError, read_json

ARCHIVE_DEPTH = 96
_STANDARD = "-"
_WHERE = "Where to; - is standard output.  [default: session-<id>.md or, as JSON, session-<id>.json]"


@contextmanager
def held_session(installation: Installation, database: Database, prefix: str) -> Iterator[SessionRow]:
    """A session by its id's start, locked for the block. Raises: SessionNotFoundError, SessionLockedError."""
    session_id = find_session(database, prefix)
    lock = SessionLocks(installation.places.data_dir / "locks").try_acquire(session_id)
    if lock is None:
        raise SessionLockedError(session_id)
    try:
        yield _row(database, session_id)
    finally:
        lock.release()


def _row(database: Database, session_id: str) -> SessionRow:
    row = database.read(lambda tx: sessions.get(tx, session_id))
    if row is None:
        raise SessionNotFoundError(session_id)
    return row


@click.command()
@click.argument("session_id", metavar="ID")
@pass_installation
def fork(installation: Installation, /, session_id: str) -> None:
    """Copy a session; prints the copy's id."""
    new_id = RandomIds().new()
    with installation.store() as database, held_session(installation, database, session_id) as row:
        if row.parent_id is not None:
            raise not_drivable(row)
        database.write(lambda tx: copy_session(tx, row, id=new_id))
    click.echo(new_id)


@click.command()
@click.argument("session_id", metavar="ID")
@click.option("-n", "turns", type=click.IntRange(1), default=1, show_default=True, help="How many turns.")
@pass_installation
def rewind(installation: Installation, /, session_id: str, turns: int) -> None:
    """Drop the last turns of a conversation."""
    with installation.store() as database, held_session(installation, database, session_id) as row:
        conversation = Conversation.load(database, row.id, row.revision)
        try:
            done, _ = cut_back(conversation, turns)
        except InvalidBodyError as error:
            raise InvalidBodyError(f"-n: {error.detail}") from None
    noun = "turn" if done.turns_removed == 1 else "turns"
    say(f"dropped {done.turns_removed} {noun}; {done.messages_after} of {done.messages_before} messages stay")


@click.command()
@click.argument("session_id", metavar="ID")
@click.option("-o", "output", metavar="FILE", help=_WHERE)
@click.option(
    "--format", "form", type=click.Choice(["markdown", "json"]), default="markdown", show_default=True,
    help="For people, or as the archive that `session import` takes.",
)  # fmt: skip
@pass_installation
def export(installation: Installation, /, session_id: str, output: str | None, form: str) -> None:
    """Write a conversation to a file, from its first turn on."""
    with installation.store() as database:
        row = _row(database, find_session(database, session_id))
        pieces = _archive(database, row) if form == "json" else _transcript(database, row)
        if output == _STANDARD:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            return
        suffix = "json" if form == "json" else "md"
        path = Path(output or f"session-{row.id}.{suffix}")
        try:
            write_private(path, pieces)
        except OSError as error:
            raise InvalidBodyError(f"{path} cannot be written: {error.strerror}") from None
    say(f"wrote {path}")


def _archive(database: Database, row: SessionRow) -> Iterable[bytes]:
    return write_archive(database, row.id)


def _transcript(database: Database, row: SessionRow) -> Iterable[bytes]:
    log = database.read(lambda tx: messages.load(tx, row.id))
    return [write_transcript(row, log).encode()]


def write_private(path: Path, pieces: Iterable[bytes]) -> None:
    """Put a file in its place at once, whole, for its owner alone; a link stays, and leads to it.

    A device or a pipe is written to as it is. Raises: OSError.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(pieces)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@click.command("import")
@click.argument("source", metavar="FILE|-")
@pass_installation
def import_(installation: Installation, /, source: str) -> None:
    """Recreate the sessions of an archive; prints the root's new id."""
    config = installation.load()
    with installation.store() as database:
        known = [project.name for project in database.read(projects.list_all)]
        unpacked = _read_archive(source, Terms(lambda named: select_profile(config, named), known))
        made = database.write(lambda tx: store_archive(tx, unpacked, RandomIds(), None))
    say(f"imported {len(made)} {'session' if len(made) == 1 else 'sessions'}")
    click.echo(made[0])


def _read_archive(source: str, terms: Terms) -> Unpacked:
    try:
        return read_archive(read_json(_read(source), ARCHIVE_DEPTH), terms)
    except JsonFaultError as error:
        raise InvalidBodyError(f"{source} is no archive: {error}") from None
    except ArchiveError as error:
        raise InvalidBodyError(f"{source} cannot be imported: {error.sentence}") from None


def _read(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == _STANDARD else Path(source).read_bytes()
    except OSError as error:
        raise InvalidBodyError(f"{source} cannot be read: {error.strerror}") from None

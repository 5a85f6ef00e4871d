"""Numbered forward migrations of the store; `PRAGMA user_version` says which one it stands at.

To change the schema, append a `Migration`; one that was released is never edited. Each runs in a transaction
with its number. Before the first one runs on a store that holds something, a copy is put beside it.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from meka.base.clock import SystemClock
from meka.store.connection import Connection, Tx
from meka.store.failures import StoreFromTheFutureError
from meka.store.indexing import index_everything


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from the schema before it; `number` counts from 1 without gaps."""

    number: int
    name: str
    statements: tuple[str, ...]
    fill: Callable[[Tx], None] | None = None
    """What is to be written into the new schema, from what the store holds."""


def _full_text(index: str, table: str, key: str) -> tuple[str, ...]:
    """An FTS5 index over a table's text, with the triggers that keep it: they run for cascades too."""
    gone = f"INSERT INTO {index} ({index}, rowid, text) VALUES ('delete', old.{key}, old.text);"  # noqa: S608
    new = f"INSERT INTO {index} (rowid, text) VALUES (new.{key}, new.text);"  # noqa: S608
    return (
        f"""CREATE VIRTUAL TABLE {index} USING fts5 (
            text, content='{table}', content_rowid='{key}', prefix='1 2 3',
            tokenize='porter unicode61 remove_diacritics 2'
        )""",
        f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN {new} END",
        f"CREATE TRIGGER {table}_gone AFTER DELETE ON {table} BEGIN {gone} END",
        f"CREATE TRIGGER {table}_changed AFTER UPDATE OF text ON {table} BEGIN {gone} {new} END",
    )


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "sessions, their log, turns, blobs, scratchpad; credentials",
        (
            # Moments are microseconds since 1970 (UTC); structured columns are JSON text.
            """CREATE TABLE sessions (
                id TEXT NOT NULL PRIMARY KEY,
                created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                parent_id TEXT REFERENCES sessions (id),
                working_directory TEXT NOT NULL,
                permission TEXT NOT NULL,
                approvals INTEGER NOT NULL,
                profile TEXT NOT NULL,
                project TEXT NOT NULL,
                capabilities TEXT NOT NULL,
                title TEXT,
                first_words TEXT,
                pinned_at INTEGER,
                token_fingerprint TEXT,
                spawn TEXT,
                revision INTEGER NOT NULL DEFAULT 0,
                context_tokens INTEGER
            )""",
            # The listing reads pinned sessions and the others apart, each along an index in the order of the
            # page; a filter's index ends in that order too (roots are those whose parent is NULL).
            "CREATE INDEX sessions_pinned ON sessions (pinned_at, id) WHERE pinned_at IS NOT NULL",
            "CREATE INDEX sessions_recent ON sessions (updated_at, id) WHERE pinned_at IS NULL",
            "CREATE INDEX sessions_parent ON sessions (parent_id, updated_at, id)",
            "CREATE INDEX sessions_directory ON sessions (working_directory, updated_at, id)",
            "CREATE INDEX sessions_profile ON sessions (profile, updated_at, id)",
            "CREATE INDEX sessions_project ON sessions (project, updated_at, id)",
            # AUTOINCREMENT: the number of a deleted row is never given to another one.
            """CREATE TABLE messages (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                kind TEXT NOT NULL,
                role TEXT,
                content TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                turn_id TEXT,
                meta TEXT
            )""",
            "CREATE INDEX messages_session ON messages (session_id, seq)",
            # A fork and an import keep the turns' ids: they are unique in a session.
            """CREATE TABLE turns (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL,
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                source TEXT NOT NULL,
                started_at INTEGER NOT NULL,
                permission TEXT NOT NULL,
                ended_at INTEGER,
                status TEXT,
                stop_reason TEXT,
                error_type TEXT,
                error_detail TEXT,
                profile TEXT,
                input_tokens INTEGER NOT NULL DEFAULT 0,
                output_tokens INTEGER NOT NULL DEFAULT 0,
                cache_creation_input_tokens INTEGER NOT NULL DEFAULT 0,
                cache_read_input_tokens INTEGER NOT NULL DEFAULT 0,
                UNIQUE (session_id, id)
            )""",
            "CREATE INDEX turns_session ON turns (session_id, seq)",
            """CREATE TABLE blobs (
                hash TEXT NOT NULL PRIMARY KEY,
                media_type TEXT NOT NULL,
                size_bytes INTEGER NOT NULL,
                data BLOB NOT NULL
            )""",
            """CREATE TABLE session_blobs (
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                hash TEXT NOT NULL REFERENCES blobs (hash),
                PRIMARY KEY (session_id, hash)
            ) WITHOUT ROWID""",
            "CREATE INDEX session_blobs_hash ON session_blobs (hash)",
            """CREATE TABLE scratchpad_entries (
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                name TEXT NOT NULL,
                size_bytes INTEGER NOT NULL,
                created_at INTEGER NOT NULL,
                content TEXT NOT NULL,
                PRIMARY KEY (session_id, name)
            )""",
            """CREATE TABLE account_credentials (
                account TEXT NOT NULL PRIMARY KEY,
                kind TEXT NOT NULL,
                secret TEXT NOT NULL,
                updated_at INTEGER NOT NULL
            )""",
        ),
    ),
    Migration(
        2,
        "inbox items and background tasks",
        (
            """CREATE TABLE inbox_items (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                class TEXT NOT NULL,
                message TEXT NOT NULL,
                source TEXT,
                state TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                mid_turn INTEGER NOT NULL DEFAULT 0,
                retry_until INTEGER NOT NULL,
                appended_at INTEGER,
                appended_seq INTEGER,
                delivered_at INTEGER,
                withdrawn_at INTEGER,
                not_before INTEGER,
                attempts INTEGER NOT NULL DEFAULT 0,
                last_error TEXT,
                failure TEXT,
                token TEXT,
                idempotency_key TEXT,
                body_digest TEXT
            )""",
            # What is still to be shown is a handful among all that ever was.
            "CREATE INDEX inbox_open ON inbox_items (session_id, seq) WHERE state IN ('pending', 'appended')",
            """CREATE UNIQUE INDEX inbox_key ON inbox_items (session_id, token, idempotency_key)
                WHERE idempotency_key IS NOT NULL""",
            """CREATE TABLE background_tasks (
                seq INTEGER PRIMARY KEY AUTOINCREMENT,
                id TEXT NOT NULL UNIQUE,
                session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
                tool TEXT NOT NULL,
                label TEXT NOT NULL,
                status TEXT NOT NULL,
                started_at INTEGER NOT NULL,
                finished_at INTEGER,
                outcome TEXT,
                scratchpad_entry TEXT,
                announced_at INTEGER,
                delivered_at INTEGER,
                subagent_id TEXT
            )""",
            "CREATE INDEX tasks_session ON background_tasks (session_id, seq)",
            "CREATE INDEX tasks_status ON background_tasks (status, seq)",
            """CREATE INDEX tasks_unreported ON background_tasks (session_id, seq)
                WHERE delivered_at IS NULL AND status != 'running'""",
        ),
    ),
    Migration(
        3,
        "projects",
        (
            """CREATE TABLE projects (
                name TEXT NOT NULL PRIMARY KEY,
                created_at INTEGER NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
    Migration(
        4,
        "the search index",
        (
            """CREATE TABLE search_texts (
                seq INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE,
                session_id TEXT NOT NULL,
                is_summary INTEGER NOT NULL,
                text TEXT NOT NULL
            )""",
            """CREATE TABLE search_titles (
                id INTEGER PRIMARY KEY,
                session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
                text TEXT NOT NULL
            )""",
            "CREATE INDEX search_texts_session ON search_texts (session_id)",
            *_full_text("search_index", "search_texts", "seq"),
            *_full_text("title_index", "search_titles", "id"),
        ),
        index_everything,
    ),
    Migration(
        5,
        "renames of profiles",
        (
            "CREATE TABLE profile_renames (old TEXT NOT NULL PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID",
            "CREATE INDEX profile_renames_new ON profile_renames (new)",
        ),
    ),
)


def migrate(connection: Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the store at `path` to the newest schema. The caller holds the schema lock.

    Raises: `StoreFromTheFutureError`, and leaves that store alone.
    """
    version = int(connection.sql("PRAGMA user_version")[0][0])
    newest = migrations[-1].number
    if version > newest:
        raise StoreFromTheFutureError(
            f"the store {path} was written by a newer meka: its schema is {version}, this one knows up to "
            f"{newest}; run the newer version, or put a backup (meka.db.v{newest}.bak) in its place"
        )
    connection.sql("PRAGMA journal_mode = WAL")
    if version < newest and connection.sql("SELECT 1 FROM sqlite_master LIMIT 1"):
        _back_up(connection, path, version)
    for migration in migrations:
        if migration.number > version:
            _apply(connection, migration)


def _apply(connection: Connection, migration: Migration) -> None:
    connection.sql("BEGIN IMMEDIATE")
    try:
        for statement in migration.statements:
            connection.sql(statement)
        if migration.fill is not None:
            migration.fill(Tx(connection, SystemClock()))
        connection.sql(f"PRAGMA user_version = {migration.number:d}")
        connection.sql("COMMIT")
    except BaseException:
        connection.roll_back()
        raise


def _back_up(connection: Connection, path: Path, version: int) -> None:
    """A whole copy as `<file>.v<version>.bak`, private, put in its place at once."""
    backup = path.with_name(f"{path.name}.v{version}.bak")
    partial = backup.with_name(backup.name + ".partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(partial)) as target:
        connection.driver.backup(target)
        # The copy says WAL as its origin does; one file alone is what can be copied back.
        target.execute("PRAGMA journal_mode = DELETE")
    partial.replace(backup)

"""Sessions as a person at a shell names them: by the start of an id, or as the latest one."""

from meka.store.connection import Tx
from meka.store.models import SESSIONS


def ids_with_prefix(tx: Tx, prefix: str, *, limit: int) -> list[str]:
    """The ids that begin with `prefix`, at most `limit` of them."""
    query = SESSIONS.select(SESSIONS.id).where(SESSIONS.id.startswith(prefix)).order_by(SESSIONS.id)
    return [row["id"] for row in tx.rows(query.limit(limit))]


def latest_root(tx: Tx) -> str | None:
    """The session that nobody spawned and that was last updated, if there is one."""
    roots = SESSIONS.select(SESSIONS.id).where(SESSIONS.parent_id.is_null())
    row = tx.row(roots.order_by(SESSIONS.updated_at.desc(), SESSIONS.id.desc()).limit(1))
    return None if row is None else str(row["id"])


def root_ids(tx: Tx) -> list[str]:
    """The ids of every session that nobody spawned."""
    return [row["id"] for row in tx.rows(SESSIONS.select(SESSIONS.id).where(SESSIONS.parent_id.is_null()))]

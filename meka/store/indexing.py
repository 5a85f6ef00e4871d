"""The search index of a store that was written before there was one."""

from meka.store import messages, search
from meka.store.connection import Tx


def index_everything(tx: Tx) -> None:
    """Index every session's log and title."""
    for (session_id,) in tx.sql("SELECT id FROM sessions ORDER BY rowid"):
        search.note_title(tx, session_id)
        log = messages.load(tx, session_id)
        for row in log:
            messages.index(tx, row)
        # Rewinds did not say then what they took out.
        search.forget(tx, sorted(messages.unsaid(log)))

"""The tables, as values that queries are built from; bound to no database, since several may be open."""

from typing import Any

from peewee import SQL, Table

# Whole rows: named one by one, the columns cost more to compile than SQLite takes to read them.
ALL = SQL("*")


def _table(name: str, columns: str) -> Any:
    """A table whose columns are attributes (which types cannot say)."""
    return Table(name, tuple(columns.split()))


SESSIONS = _table(
    "sessions",
    """id created_at updated_at parent_id working_directory permission approvals profile project capabilities
    title first_words pinned_at token_fingerprint spawn revision context_tokens""",
)
MESSAGES = _table("messages", "seq session_id kind role content created_at turn_id meta")
TURNS = _table(
    "turns",
    """seq id session_id source started_at permission ended_at status stop_reason error_type error_detail
    profile input_tokens output_tokens cache_creation_input_tokens cache_read_input_tokens""",
)
BLOBS = _table("blobs", "hash media_type size_bytes data")
SESSION_BLOBS = _table("session_blobs", "session_id hash")
SCRATCHPAD = _table("scratchpad_entries", "session_id name size_bytes created_at content")
PROJECTS = _table("projects", "name created_at")
RENAMES = _table("profile_renames", "old new")
CREDENTIALS = _table("account_credentials", "account kind secret updated_at")
INBOX = _table(
    "inbox_items",
    """seq id session_id class message source state created_at mid_turn retry_until appended_at appended_seq
    delivered_at withdrawn_at not_before attempts last_error failure token idempotency_key body_digest""",
)
TASKS = _table(
    "background_tasks",
    """seq id session_id tool label status started_at finished_at outcome scratchpad_entry announced_at
    delivered_at subagent_id""",
)

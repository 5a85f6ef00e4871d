"""Sessions as a person names them at a shell: by the start of an id."""

import re

from meka.base.errors import InvalidBodyError, SessionNotFoundError
from meka.store import lookup
from meka.store.database import Database

_ID_START = re.compile(r"[0-9a-f-]{1,36}")


def find_session(database: Database, prefix: str) -> str:
    """The session whose id begins with `prefix`. Raises: SessionNotFoundError, InvalidBodyError."""
    wanted = prefix.lower()
    if not _ID_START.fullmatch(wanted):
        raise SessionNotFoundError(prefix)
    found = database.read(lambda tx: lookup.ids_with_prefix(tx, wanted, limit=2))
    if not found:
        raise SessionNotFoundError(prefix)
    if len(found) > 1:
        raise InvalidBodyError(f"several sessions begin with '{prefix}'; give more of the id")
    return found[0]

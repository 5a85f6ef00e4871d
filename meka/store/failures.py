"""What goes wrong with a store, as errors that the floors above may name (ruling 59)."""

import sqlite3

from meka.base.errors import StoreUnavailableError

# Primary result codes that waiting, or room on the disk, may cure.
_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
    }
)


class StoreOpenError(Exception):
    """The store cannot be opened at all; the sentence is for the operator."""


class StoreFromTheFutureError(StoreOpenError):
    """The store was written by a newer meka than this one."""


class CommitFailedError(Exception):
    """The transaction that carried a unit of work was not committed: the unit left nothing behind."""


def is_unavailable(error: BaseException) -> bool:
    """Whether `error` says that the store is busy past its wait, or that its disk is full."""
    original = getattr(error, "orig", error)  # peewee wraps the driver's errors
    code = getattr(original, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _UNAVAILABLE


def translated(error: BaseException) -> BaseException:
    """`error` as the floors above know it: `StoreUnavailableError` for a busy or full store, else itself."""
    if not is_unavailable(error):
        return error
    unavailable = StoreUnavailableError()
    unavailable.__cause__ = error
    return unavailable

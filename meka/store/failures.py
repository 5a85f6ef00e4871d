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

_TOO_LONG = "the search took too long and was ended; ask for fewer or for rarer words, or try again"


class StoreOpenError(Exception):
    """The store cannot be opened at all; the sentence is for the operator."""


class StoreFromTheFutureError(StoreOpenError):
    """The store was written by a newer meka than this one."""


class CommitFailedError(Exception):
    """The transaction that carried a unit of work was not committed: the unit left nothing behind."""


def is_unavailable(error: BaseException) -> bool:
    """Whether `error` says that the store is busy past its wait, or that its disk is full."""
    return _primary_code(error) in _UNAVAILABLE


def translated(error: BaseException) -> BaseException:
    """`error` as the floors above know it.

    Shape: `StoreUnavailableError` for a busy or full store and for what its deadline ended, else itself.
    """
    if is_unavailable(error):
        unavailable = StoreUnavailableError()
    elif _primary_code(error) == sqlite3.SQLITE_INTERRUPT:
        unavailable = StoreUnavailableError(_TOO_LONG)
    else:
        return error
    unavailable.__cause__ = error
    return unavailable


def _primary_code(error: BaseException) -> int | None:
    original = getattr(error, "orig", error)  # peewee wraps the driver's errors
    code = getattr(original, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None

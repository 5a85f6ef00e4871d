"""What profiles were called before: a name that a session's row still says leads to the one that came after.

A rename is noted before anything else takes the new name. So a crash halfway, or a row that was written
meanwhile under the old one, leaves no session behind. A name that is given to another profile leads nowhere.
"""

from collections.abc import Container

from meka.store.connection import Tx
from meka.store.models import RENAMES


def note(tx: Tx, old: str, new: str) -> None:
    """The profile `old` is called `new` from now on."""
    forget(tx, old)
    forget(tx, new)
    tx.execute(RENAMES.insert({RENAMES.old: old, RENAMES.new: new}))


def forget(tx: Tx, old: str) -> None:
    """The name `old` leads nowhere: its profile was not renamed after all, or another one has it."""
    tx.execute(RENAMES.delete().where(RENAMES.old == old))


def begin_anew(tx: Tx, name: str) -> None:
    """A profile of this name was added: it is none of those that had the name, or were to have it."""
    tx.execute(RENAMES.delete().where((RENAMES.old == name) | (RENAMES.new == name)))


def later_name(tx: Tx, name: str, known: Container[str]) -> str | None:
    """The known name that the profile got that was called `name`; None where it got none."""
    seen: set[str] = set()
    current: str | None = name
    while current is not None and current not in known:
        # There is no circle, for a new name leads nowhere yet; but a store can be edited.
        seen.add(current)
        row = tx.row(RENAMES.select(RENAMES.new).where(RENAMES.old == current))
        current = None if row is None or row["new"] in seen else str(row["new"])
    return current


def earlier_name(tx: Tx, name: str, known: Container[str]) -> str | None:
    """The known name that the profile had that is called `name` by now; None where it had none."""
    seen, waiting = {name}, [name]
    while waiting:
        for row in tx.rows(RENAMES.select(RENAMES.old).where(RENAMES.new == waiting.pop())):
            old = str(row["old"])
            if old in known:
                return old
            if old not in seen:
                seen.add(old)
                waiting.append(old)
    return None

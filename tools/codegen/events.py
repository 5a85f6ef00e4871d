"""The table of the events that feeds carry: the module `meka.schema.events`."""

from tools.codegen.document import Document, Json
from tools.codegen.python import HEADER, string, strings

_HEAD = '''
from collections.abc import Mapping
from typing import NamedTuple


class EventKind(NamedTuple):
    """One kind of event.

    A numbered one has an id and is replayed; a terminal one is the last of its turn. `feeds` are those that
    carry it: `turn`, `session`, `subagent`, `server`.
    """

    name: str
    numbered: bool
    terminal: bool
    feeds: tuple[str, ...]


EVENTS: Mapping[str, EventKind] = {
'''


def render(document: Document) -> str:
    """The module, as text."""
    rows = [_row(name, kind) for name, kind in document.events.items()]
    return HEADER + _HEAD + "".join(rows) + "}\n"


def _row(name: str, kind: Json) -> str:
    return (
        f"    {string(name)}: EventKind(\n"
        f"        {string(name)},\n"
        f"        numbered={kind['numbered']},\n"
        f"        terminal={kind['terminal']},\n"
        f"        feeds={strings(kind['feeds'])},\n"
        "    ),\n"
    )

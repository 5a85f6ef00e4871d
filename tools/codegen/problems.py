"""The table of the kinds of problems: the module `meka.schema.problems`."""

from tools.codegen.document import Document
from tools.codegen.python import HEADER, numbers, string

_HEAD = '''
from collections.abc import Mapping
from typing import NamedTuple


class ProblemKind(NamedTuple):
    """One kind of problem: its title, and the statuses it is answered with (the usual one first)."""

    title: str
    statuses: tuple[int, ...]


PROBLEMS: Mapping[str, ProblemKind] = {
'''


def render(document: Document) -> str:
    """The module, as text."""
    rows = [
        f"    {string(slug)}: ProblemKind({string(kind['title'])}, {numbers(kind['statuses'])}),\n"
        for slug, kind in document.problems.items()
    ]
    return HEADER + _HEAD + "".join(rows) + "}\n"

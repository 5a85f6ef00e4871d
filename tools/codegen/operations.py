"""The table of the operations and the scopes: the module `meka.schema.operations`."""

from collections.abc import Iterable

from tools.codegen.document import Document, Operation
from tools.codegen.python import HEADER, numbers, string, strings

_HEAD = '''
from collections.abc import Mapping
from typing import NamedTuple


class Scopes(NamedTuple):
    """What a token must hold: each of `all`, and one of `any` where that names some."""

    all: tuple[str, ...]
    any: tuple[str, ...]


class Operation(NamedTuple):
    """One operation; `scopes` is None where no token is asked for, `problems` has slugs by status."""

    id: str
    method: str
    path: str
    scopes: Scopes | None
    success: tuple[int, ...]
    problems: Mapping[int, tuple[str, ...]]
    body_types: tuple[str, ...]
    body_required: bool


'''


def render(document: Document) -> str:
    """The module, as text."""
    return (
        HEADER
        + _HEAD
        + f"SCOPES: tuple[str, ...] = {_column(document.scopes)}\n\n"
        + f"READ_SCOPES: tuple[str, ...] = {_column(read_scopes(document))}\n"
        + '"""Those of which any one admits to discovery."""\n\n'
        + "OPERATIONS: Mapping[str, Operation] = {\n"
        + "".join(_row(document, operation) for operation in document.operations())
        + "}\n"
    )


def read_scopes(document: Document) -> list[str]:
    """The scopes of which any one admits to discovery."""
    return [scope for scope, kind in document.scopes.items() if kind["read"]]


def _column(texts: Iterable[str]) -> str:
    return "(\n" + "".join(f"    {string(text)},\n" for text in texts) + ")"


def _row(document: Document, operation: Operation) -> str:
    body = document.body(operation) or {"content": {}}
    problems = "".join(
        f"            {status}: {strings(slugs)},\n" for status, slugs in operation.problems.items()
    )
    return (
        f"    {string(operation.id)}: Operation(\n"
        f"        id={string(operation.id)},\n"
        f"        method={string(operation.method)},\n"
        f"        path={string(operation.path)},\n"
        f"        scopes={_scopes(operation)},\n"
        f"        success={numbers(operation.success)},\n"
        f"        problems={{\n{problems}        }},\n"
        f"        body_types={strings(body['content'])},\n"
        f"        body_required={bool(body.get('required', False))},\n"
        "    ),\n"
    )


def _scopes(operation: Operation) -> str:
    scopes = operation.scopes
    if scopes is None:
        return "None"
    return f"Scopes(all={strings(scopes.get('all', ()))}, any={strings(scopes.get('any', ()))})"

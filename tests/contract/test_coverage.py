"""Every answer that the document lists is one that a contract test is there to see."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from _pytest.mark.structures import Mark, ParameterSet

import tests.contract
from tests.contract.checking import Answered, the_contract

# Answers that nothing can bring about yet, with the reason; delete the line when the feature is there.
NOT_YET = {
    Answered("submit_turn", 503, "mcp-unavailable"): "no MCP servers are connected by this version",
    Answered("compact_session", 503, "mcp-unavailable"): "no MCP servers are connected by this version",
}


def documented() -> set[Answered]:
    """Every (operation, status, slug) of the document."""
    found = set()
    for operation in the_contract().document.operations():
        statuses = {int(status) for status in operation.spec["responses"]}
        found |= {Answered(operation.id, status) for status in statuses - set(operation.problems)}
        found |= {
            Answered(operation.id, status, slug)
            for status, slugs in operation.problems.items()
            for slug in slugs
        }
    return found


def promised() -> set[Answered]:
    """What the tests of this package are marked to see; each fails unless it sees it (conftest)."""
    return {answer for function in _tests() for mark in _marks_of(function) for answer in mark.args}


def _tests() -> Iterator[Any]:
    for module in pkgutil.iter_modules(tests.contract.__path__, "tests.contract."):
        if module.name.rpartition(".")[2].startswith("test_") and module.name != __name__:
            found = vars(importlib.import_module(module.name))
            yield from (value for name, value in found.items() if name.startswith("test_"))


def _marks_of(function: Any) -> Iterator[Mark]:
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "drives":
            yield mark
        elif mark.name == "parametrize":
            sets = (each for each in mark.args[1] if isinstance(each, ParameterSet))
            yield from (inner for each in sets for inner in each.marks if inner.name == "drives")


def test_every_documented_answer_is_driven() -> None:
    assert sorted(documented() - promised() - set(NOT_YET)) == []


def test_exceptions_are_documented_and_not_driven() -> None:
    assert set(NOT_YET) <= documented() - promised()


def test_tests_promise_nothing_that_is_not_documented() -> None:
    assert sorted(promised() - documented()) == []

"""What contract tests share: one server a module, and the account of what each test has seen."""

from collections.abc import Iterator

import pytest

from tests.contract.bench import SEEN, Bench, running


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A server that the tests of a module share; its provider answers "ok" unless a test scripts it."""
    with running(tmp_path_factory.mktemp("bench")) as started:
        yield started


@pytest.fixture(autouse=True)
def _sees_what_it_drives(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that is marked with answers has to have seen each of them."""
    SEEN.clear()
    yield
    promised = {answer for mark in request.node.iter_markers("drives") for answer in mark.args}
    assert promised <= SEEN, f"never seen: {sorted(promised - SEEN)}"

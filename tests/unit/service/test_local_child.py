"""LocalChild, with small scripts in the worker's place."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from meka.agent.providers.base import Cause, ProviderError
from meka.service.local_child import Endpoint, LocalChild

WEIGHTS = Path("/weights/small.gguf")
ECHO = """
import json, sys
order = json.loads(sys.stdin.readline())
print(json.dumps({"base_url": json.dumps(order)}), flush=True)
sys.stdin.read()
"""
STUBBORN = """
import json, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.readline()
print(json.dumps({"base_url": "http://127.0.0.1:1"}), flush=True)
time.sleep(600)
"""
"""Ignores both the end of its input and TERM."""


@pytest.fixture
def children() -> Iterator[list[LocalChild]]:
    started: list[LocalChild] = []
    yield started
    for child in started:
        child.stop()


def start(children: list[LocalChild], script: str) -> LocalChild:
    children.append(LocalChild("small", (sys.executable, "-c", script)))
    return children[-1]


def test_child_is_handed_its_order_on_standard_input(children):
    endpoint = start(children, ECHO).await_endpoint(WEIGHTS)
    order = json.loads(endpoint.base_url)
    assert order["model_path"] == str(WEIGHTS)
    assert order["api_key"] == endpoint.api_key
    assert order["context_tokens"] == 8192


def test_endpoint_keeps_its_key_out_of_its_repr():
    assert "hush" not in repr(Endpoint("http://127.0.0.1:1", "hush"))


def test_child_has_no_secret_in_its_environment(children):
    os.environ["MEKA_TEST_SECRET"] = "hush"
    try:
        script = "import json, os; print(json.dumps({'base_url': json.dumps(dict(os.environ))}), flush=True)"
        endpoint = start(children, script).await_endpoint(WEIGHTS)
    finally:
        del os.environ["MEKA_TEST_SECRET"]
    seen = json.loads(endpoint.base_url)
    assert "PATH" in seen
    assert "MEKA_TEST_SECRET" not in seen


def test_child_lets_others_run_while_it_is_awaited(children):
    script = (
        'import sys; sys.stdin.readline(); sys.stdin.readline(); print(\'{"base_url": "u"}\', flush=True)'
    )
    child = start(children, script)
    waiter = gevent.spawn(child.await_endpoint, WEIGHTS)
    waiter.join(0.05)
    assert not waiter.ready()
    child._process.stdin.write(b"go on\n")
    child._process.stdin.flush()
    assert waiter.get(timeout=10).base_url == "u"


def test_child_that_ends_instead_of_answering_is_a_transient_failure(children):
    child = start(children, "import sys; sys.exit(3)")
    with pytest.raises(ProviderError, match="did not start") as failed:
        child.await_endpoint(WEIGHTS)
    assert failed.value.cause is Cause.TRANSIENT


def test_child_that_stays_silent_is_given_up(children):
    child = start(children, "import sys; sys.stdin.read()")
    with pytest.raises(ProviderError, match="did not start"):
        child.await_endpoint(WEIGHTS, timeout_seconds=0.05)


def test_child_ends_with_the_end_of_its_input_or_term(children):
    child = start(children, ECHO)
    child.await_endpoint(WEIGHTS)
    assert child.alive
    child.stop()
    assert not child.alive


def test_child_that_ignores_term_is_killed(children):
    child = start(children, STUBBORN)
    child.await_endpoint(WEIGHTS)
    child.stop(timeout_seconds=0.05)
    assert not child.alive


def test_child_can_be_stopped_after_it_died_and_twice(children):
    child = start(children, ECHO)
    child.await_endpoint(WEIGHTS)
    os.kill(child.pid, signal.SIGKILL)
    child.stop()
    child.stop()
    assert not child.alive


def test_child_logs_what_it_prints_at_debug(children, caplog):
    caplog.set_level("DEBUG", logger="meka.service.local_child")
    child = start(children, "import sys; print('loading weights', file=sys.stderr)")
    child._log_reader.join(10)
    assert "local model: loading weights" in caplog.text

"""The backend `local` on its embedded model, from the driver down to llama.cpp."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import gevent
import psutil
import pytest
import requests

from meka.agent.blocks import Message, Role, Text
from meka.agent.providers.base import (
    Cause,
    MessageEnd,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    ProviderSettings,
    StopReason,
    TextDelta,
    UsageReport,
)
from meka.agent.providers.build import build_provider
from meka.base.errors import ConfigurationError
from meka.service.local_model import LocalModel
from meka.service.local_weights import find_weights

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("local-model")]

MODEL = "smollm2-135m-instruct"
WAIT = 120.0
REPORT = "The function `total` in `invoice.py` subtracted the discount as an amount of money."
PARENT = f"""
import sys
from meka.service.local_model import LocalModel
model = LocalModel()
model.endpoint("{MODEL}")
print(model._keepers["{MODEL}"]._child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def local() -> Iterator[LocalModel]:
    try:
        find_weights(MODEL)
    except ConfigurationError as absent:
        pytest.skip(f"{absent.detail}; `make test` does so where they have wheels for the platform")
    model = LocalModel()
    yield model
    model.stop()


def ask(local: LocalModel, words: str) -> list[ProviderEvent]:
    settings = ProviderSettings(backend="local", base_url="", api_key="", model=MODEL)
    provider = build_provider(settings, local_endpoint=lambda: local.endpoint(MODEL))
    message = Message(Role.USER, (Text(words),))
    request = ModelRequest("s", "You are a helpful assistant.", (message,), (), lambda _hash: None)
    return list(provider.stream(request))


def text_of(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_local_model_answers_from_a_text_that_it_is_shown(local):
    events = ask(local, f"{REPORT}\n\nIn one sentence: what was wrong?")
    assert "discount" in text_of(events)
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    usage = [event.usage for event in events if isinstance(event, UsageReport)][-1]
    assert usage.input_tokens + usage.cache_read_input_tokens > 20
    assert usage.output_tokens > 3
    assert events[-1] == MessageEnd(StopReason.END_TURN)


def test_local_model_answers_several_at_once(local):
    askers = [gevent.spawn(ask, local, f"Say the number {number}.") for number in range(3)]
    gevent.joinall(askers, timeout=WAIT, raise_error=True)
    assert all(text_of(asker.value) for asker in askers)


def test_local_model_is_an_overflow_when_the_prompt_exceeds_its_window(local):
    with pytest.raises(ProviderError) as failed:
        ask(local, "word " * 9000)
    assert failed.value.cause is Cause.OVERFLOW


def test_local_model_refuses_who_has_no_key(local):
    base_url, _key = local.endpoint(MODEL)
    body = {"messages": [{"role": "user", "content": "hello"}]}
    answer = requests.post(f"{base_url}/chat/completions", json=body, timeout=WAIT)
    assert answer.status_code == 401


def test_local_model_keeps_its_key_out_of_the_process_table(local):
    _base_url, key = local.endpoint(MODEL)
    process = psutil.Process(local._keepers[MODEL]._child.pid)
    assert key not in " ".join(process.cmdline())
    assert key not in process.environ().values()


def test_local_model_serves_again_after_its_process_was_killed(local):
    first = local.endpoint(MODEL)
    process = local._keepers[MODEL]._child._process
    process.kill()
    process.wait(WAIT)
    assert text_of(ask(local, "Say hello."))
    assert local.endpoint(MODEL) != first


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_local_model_ends_with_the_server_that_started_it(number):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ.copy()
    )
    child = psutil.Process(int(parent.stdout.readline()))
    parent.send_signal(number)
    parent.wait(WAIT)
    parent.stdin.close()
    parent.stdout.close()
    gone, _alive = psutil.wait_procs([child], timeout=WAIT)
    assert gone == [child]

"""The loopback provider as a program."""

import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from meka.agent.providers.base import MessageEnd, ProviderError, StopReason
from meka.agent.providers.build import build_provider
from meka.agent.providers.wire import WireProvider
from tests.unit.agent.providers.samples import a_request, some_settings


def test_the_program_prints_where_it_listens_and_plays_its_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rounds = [{"status": 503, "body": "busy"}, [{"type": "text", "text": "for ever"}]]
    script.write_text(json.dumps(rounds))
    command = [sys.executable, "-m", "tests.loopback_provider", "--script", str(script), "--repeat"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = json.loads(process.stdout.readline())["base_url"]
            provider = build_provider(some_settings("anthropic-messages", base_url=base_url))
            with pytest.raises(ProviderError) as caught:
                list(provider.stream(a_request()))
            heard = [list(provider.stream(a_request())) for _ in range(2)]
            cast(WireProvider, provider).close()
        finally:
            process.terminate()

    assert caught.value.status == 503
    assert [ending[-1] for ending in heard] == [MessageEnd(StopReason.END_TURN)] * 2

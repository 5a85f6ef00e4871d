"""In a patched world, killing the greenlet that reads a provider closes its connection at once."""

import subprocess
import sys
import textwrap

import pytest

from tests.loopback_provider import LoopbackProvider, Reply

CHILD = textwrap.dedent(
    """
    from gevent import monkey

    monkey.patch_all()

    import sys

    import gevent
    from meka.agent.providers.base import Accepted
    from meka.agent.providers.build import build_provider
    from tests.unit.agent.providers.samples import a_request, some_settings

    backend, base_url, mode = sys.argv[1:]
    provider = build_provider(some_settings(backend, base_url=base_url))

    def read():
        for event in provider.stream(a_request(stream=mode == "streamed")):
            if isinstance(event, Accepted):
                print("accepted", flush=True)

    wait_for_a_line = gevent.get_hub().threadpool.apply
    reader = gevent.spawn(read)
    wait_for_a_line(sys.stdin.readline)
    reader.kill(timeout=10)
    print("dead" if reader.dead else "alive", flush=True)
    wait_for_a_line(sys.stdin.readline)
    """
)


def patched_reader(upstream: LoopbackProvider, backend: str, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, backend, upstream.base_url, mode]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("backend", ["anthropic-messages", "openai-chat-completions", "openai-responses"])
@pytest.mark.parametrize(
    ("mode", "reply"),
    [
        ("streamed", Reply([{"type": "text", "text": "a"}], hang=True)),
        ("streamed", Reply(delay_ms=600_000)),
        ("whole", Reply(delay_ms=600_000)),
    ],
    ids=["in the stream", "before the head", "whole"],
)
def test_killing_the_reader_closes_the_connection(backend: str, mode: str, reply: Reply) -> None:
    with LoopbackProvider([reply]) as upstream:
        child = patched_reader(upstream, backend, mode)
        assert child.stdin is not None
        assert child.stdout is not None
        with child:
            received = upstream.wait_for_requests(1)[0]
            if reply.hang:
                assert child.stdout.readline() == "accepted\n"
            assert not received.gone.is_set()

            child.stdin.write("kill\n")
            child.stdin.flush()

            assert child.stdout.readline() == "dead\n"
            assert received.gone.wait(30)  # while the child still lives
            assert child.poll() is None
            child.stdin.close()

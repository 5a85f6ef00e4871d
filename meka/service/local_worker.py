"""The child process of the backend `local`: llama.cpp's server on loopback, for as long as its parent lives.

Run as a file by `meka.service.local_child`, never imported by the server. It reads one JSON line from
standard input (`model_path`, `api_key`, `context_tokens`, `slots`), answers one (`base_url`) once the model
answers requests, and ends when standard input does.
"""

import ctypes
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from typing import Any, BinaryIO

PR_SET_PDEATHSIG = 1
PROMPT_CACHE_MIB = 256
MAX_THREADS = 4
MAX_REPLY_TOKENS = 512  # it may repeat itself without end
QUIET = 1


def outlive_nobody() -> None:
    """End with the parent, even one that was killed; the end of standard input says so where this cannot."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def claim_stdout() -> BinaryIO:
    """A way to the parent of our own: whatever native code prints goes to standard error instead."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def count_threads() -> int:
    """As many as this process may use; past a few, a model this small only gets slower."""
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(usable, MAX_THREADS)


def start_server(order: dict[str, Any]) -> Any:
    """llama.cpp's server, listening on a loopback port that the system chose.

    `context_tokens` is what each of the `slots` has to itself; a further request waits for a slot.
    """
    import xllamacpp  # noqa: PLC0415 - it loads native code, which the parent's errors must not depend on

    threads = count_threads()
    params = xllamacpp.CommonParams()
    params.model.path = order["model_path"]
    params.api_keys = [order["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = order["slots"]
    params.n_ctx = order["context_tokens"] * order["slots"]
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.use_jinja = True
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.n_predict = MAX_REPLY_TOKENS
    params.sampling.temp = 0.0  # the likeliest words: a model this small wanders off with any other
    params.verbosity = QUIET
    return xllamacpp.Server(params)


def await_health(base_url: str) -> None:
    """Return once the server answers; who started us sets the bound."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            opener.open(base_url + "/health", timeout=1).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.02)
        else:
            return


def main() -> None:
    """Serve until standard input ends."""
    outlive_nobody()
    answers = claim_stdout()
    order = json.loads(sys.stdin.buffer.readline())
    server = start_server(order)
    await_health(server.listening_address)
    answers.write(json.dumps({"base_url": server.listening_address + "/v1"}).encode() + b"\n")
    answers.flush()
    sys.stdin.buffer.read()
    os._exit(0)  # the server's own end waits for replies that nobody reads any more


if __name__ == "__main__":
    main()

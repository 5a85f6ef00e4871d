"""One running `meka.service.local_worker`: started, awaited and ended without ever blocking the hub."""

import json
import logging
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gevent
from gevent import subprocess

from meka.agent.providers.base import Cause, ProviderError

log = logging.getLogger(__name__)

# -P: the worker's own folder is no place to import from.
WORKER = (sys.executable, "-P", str(Path(__file__).with_name("local_worker.py")))
CONTEXT_TOKENS = 8192
# Two cores write as many tokens a second with one slot as with four; the second lets a short question by.
SLOTS = 2
START_SECONDS = 60.0
STOP_SECONDS = 2.0
LINE_BYTES = 8192
# What the child needs of an environment that also holds the server's tokens.
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a child answers, and the key that it answers to."""

    base_url: str
    api_key: str = field(repr=False)


class LocalChild:
    """A worker process, started by its construction.

    It has a session of its own, so that a terminal's Ctrl-C leaves it to the server's drain.
    """

    def __init__(self, model: str, command: Sequence[str] = WORKER) -> None:
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            start_new_session=True,
        )
        self._log_reader = gevent.spawn(_log_output, self._process.stderr, self.pid)
        self._log_reader.name = f"local-model-log:{model}"

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def await_endpoint(self, weights: Path, timeout_seconds: float = START_SECONDS) -> Endpoint:
        """Hand the child its order and wait, letting others run, until its model answers.

        Raises: ProviderError, when it ended or stayed silent instead.
        """
        api_key = secrets.token_urlsafe(32)
        order = {
            "model_path": str(weights),
            "api_key": api_key,
            "context_tokens": CONTEXT_TOKENS,
            "slots": SLOTS,
        }
        with gevent.Timeout(timeout_seconds, False):
            answer = self._ask(json.dumps(order).encode() + b"\n")
            if answer:
                return Endpoint(json.loads(answer)["base_url"], api_key)
        log.warning("local model did not start", extra={"pid": self.pid, "exit_code": self._process.poll()})
        raise ProviderError(Cause.TRANSIENT, "the local model did not start; consult server logs")

    def stop(self, timeout_seconds: float = STOP_SECONDS) -> None:
        """End the process: the end of its input and TERM, then KILL. Returns when it is gone."""
        self._close(self._process.stdin)
        if self.alive:
            self._process.terminate()
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log_reader.join(timeout_seconds)
        self._log_reader.kill()
        self._close(self._process.stdout)
        self._close(self._process.stderr)

    def _ask(self, line: bytes) -> bytes:
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            return bytes(self._process.stdout.readline(LINE_BYTES))
        except BrokenPipeError:
            return b""

    @staticmethod
    def _close(pipe: Any) -> None:
        try:
            pipe.close()
        except BrokenPipeError:  # what was not flushed has no reader any more
            log.debug("local model closed its pipe first")


def _log_output(output: Any, pid: int) -> None:
    while line := output.readline(LINE_BYTES):
        log.debug("local model: %s", line.decode("utf-8", "replace").rstrip(), extra={"pid": pid})

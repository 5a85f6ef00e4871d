"""`meka serve` as a child process with folders of its own, from its start to its drain."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tools.demo.client import Client, DemoError

START_SECONDS = 30.0
DRAIN_SECONDS = 40.0
TOKEN_VARIABLE = "MEKA_DEMO_TOKEN"
CONFIG = """\
default_profile = "scripted"

[accounts.scripted]
backend = "openai-chat-completions"
base_url = "{scripted_url}"

[accounts.embedded]
backend = "local"

[profiles.scripted]
account = "scripted"
model = "a-fixed-script"

[profiles.embedded]
account = "embedded"
model = "smollm2-135m-instruct"
context_window = 8192
max_output_tokens = 96

[[serve.tokens]]
token = "${{{token_variable}}}"
scopes = ["sessions:r", "sessions:w"]
"""


@contextmanager
def running_server(home: Path, scripted_url: str) -> Iterator[Client]:
    """Start the server, all it keeps under `home`; at the end drain it and see that it went well."""
    environment = _prepare(home, scripted_url)
    _store_key("scripted", environment)
    port = _free_port()
    log = home / "server.log"
    client = Client(f"http://127.0.0.1:{port}", environment[TOKEN_VARIABLE])
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "meka", "serve", "--bind", f"127.0.0.1:{port}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the demo, which drains it
        )
    try:
        _await_start(client, process)
        yield client
    except DemoError as error:
        _drain(process)
        raise DemoError(f"{error}\nThe server's log:\n{log.read_text()}") from None
    finally:
        client.close()
        code = _drain(process)
    if code != 0:
        raise DemoError(f"the server ended with {code}; its log:\n{log.read_text()}")


def _prepare(home: Path, scripted_url: str) -> dict[str, str]:
    config, data = home / "config", home / "data"
    config.mkdir()
    data.mkdir()
    text = CONFIG.format(scripted_url=scripted_url, token_variable=TOKEN_VARIABLE)
    (config / "config.toml").write_text(text)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEKA_")}
    return inherited | {
        "MEKA_CONFIG_DIR": str(config),
        "MEKA_DATA_DIR": str(data),
        TOKEN_VARIABLE: secrets.token_urlsafe(32),
    }


def _store_key(account: str, environment: dict[str, str]) -> None:
    """An API-key account needs a key, kept in the store; the scripted endpoint takes any."""
    subprocess.run(
        [sys.executable, "-m", "meka", "account", "login", account, "--api-key-stdin"],
        env=environment,
        input=secrets.token_urlsafe(16).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _await_start(client: Client, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            client.get("/v1/health/live")
        except requests.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise DemoError("the server did not start")


def _drain(process: "subprocess.Popen[bytes]") -> int:
    """End the server if it still runs. Returns its exit code."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(DRAIN_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        return process.wait()

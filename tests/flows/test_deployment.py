"""What `deploy/` and the Dockerfile say, tried as far as it goes without an engine or a booted systemd."""

import configparser
import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from meka.config.model import Serve
from tests.serving import Client, Server, read_events, say, use

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy/meka.service").read_text()
NGINX = (ROOT / "deploy/nginx.conf").read_text()
PAUSED = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 60_000}]
START_SECONDS = 20.0

needs_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed"
)
needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx and openssl are not installed"
)


def unit_settings() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(UNIT)
    return unit["Service"]


def accepted_by_meka(arguments: list[str]) -> bool:
    """Whether the command line parses: `--help` behind it answers where nothing before it is refused."""
    command = [sys.executable, "-m", "meka", *arguments, "--help"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


@needs_systemd
def test_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = tmp_path / "meka.service"
    program = shlex.split(unit_settings()["ExecStart"])[0]
    unit.write_text(UNIT.replace(program, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert [line for line in done.stderr.splitlines() if "meka.service" in line] == []
    assert done.returncode == 0, done.stderr


def test_unit_restarts_what_may_pass_and_nothing_else() -> None:
    service = unit_settings()
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", "2")
    assert int(service["TimeoutStopSec"]) > Serve().shutdown_drain_timeout
    assert (service["LimitNOFILE"], service["OOMPolicy"]) == ("65536", "continue")


def test_unit_sets_nothing_that_bubblewrap_cannot_live_under() -> None:
    hostile = {
        "RestrictNamespaces",
        "ProtectKernelTunables",
        "ProtectKernelLogs",
        "ProtectProc",
        "ProcSubset",
        "SystemCallFilter",
        "PrivateUsers",
    }
    assert hostile & set(unit_settings()) == set()


def test_unit_starts_the_server_as_it_is_started() -> None:
    program, *arguments = shlex.split(unit_settings()["ExecStart"])
    assert Path(program).name == "meka"
    assert accepted_by_meka(arguments)
    assert not accepted_by_meka([*arguments, "--no-such-option"])


@contextmanager
def proxied(tmp_path: Path, server: Server) -> Iterator[Client]:
    """A client that reaches the server through nginx and TLS, as deploy/nginx.conf has it."""
    certificate, key = make_certificate(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    changes = {
        "server 127.0.0.1:8080;": f"server {server.base_url.removeprefix('http://')};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/meka.pem": str(certificate),
        "/etc/ssl/meka.key": str(key),
    }
    site = NGINX
    for stated, here in changes.items():
        assert site.count(stated) == 1, stated
        site = site.replace(stated, here)
    process = start_nginx(tmp_path, site)
    try:
        wait_until_listening(process, port)
        client = Client(f"https://127.0.0.1:{port}")
        client.http.verify = str(certificate)
        yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def make_certificate(directory: Path) -> tuple[Path, Path]:
    certificate, key = directory / "cert.pem", directory / "key.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-keyout", str(key), "-out", str(certificate), "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def start_nginx(directory: Path, site: str) -> subprocess.Popen[bytes]:
    """One process in the foreground that keeps all it writes in `directory`."""
    (directory / "site.conf").write_text(site)
    temporary = "".join(
        f"    {name}_temp_path {directory}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (directory / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {directory}/nginx.pid; error_log {directory}/error.log;\n"
        f"events {{}}\nhttp {{\n    access_log off;\n{temporary}    include {directory}/site.conf;\n}}\n"
    )
    command = ["nginx", "-p", str(directory), "-e", str(directory / "error.log")]
    return subprocess.Popen([*command, "-c", str(directory / "nginx.conf")], stderr=subprocess.DEVNULL)


def wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, "nginx did not start"
            assert time.monotonic() < give_up, "nginx does not listen"
            time.sleep(0.02)
        else:
            return


@needs_nginx
def test_nginx_passes_events_on_while_the_turn_runs(tmp_path: Path) -> None:
    with Server(tmp_path, rounds=(PAUSED,)) as server, proxied(tmp_path, server) as client:
        session = client.session()
        body = {"message": "go", "stream": True}
        with client.call("POST", f"/v1/sessions/{session}/turn", json=body, stream=True) as stream:
            events = read_events(stream)
            assert (
                next(event for event in events if event.name == "assistant_text.delta").data["text"] == "so"
            )
            assert client.call("GET", f"/v1/sessions/{session}").json()["turn_in_flight"] is True
            client.call("POST", f"/v1/sessions/{session}/cancel", json={})
            assert [event.name for event in events][-1] == "turn.canceled"


@needs_nginx
def test_nginx_lets_a_client_that_leaves_be_seen(tmp_path: Path) -> None:
    wait = [{"type": "text", "text": "so"}, {"type": "sleep", "ms": 3_000}]
    rounds = ([*wait, *use(("c1", "checklist_read", {}))], say("done"))
    with (
        Server(tmp_path, rounds=rounds, serve='stream_reattach_grace = "0s"') as server,
        proxied(tmp_path, server) as client,
    ):
        session = client.session()
        body = {"message": "go", "stream": True}
        with client.call("POST", f"/v1/sessions/{session}/turn", json=body, stream=True) as stream:
            assert next(read_events(stream)).name == "turn.started"
        assert ended_turn(server.client(), session)["status"] == "canceled"


def ended_turn(client: Client, session: str) -> Mapping[str, Any]:
    """The record of the session's only turn, once it has an ending."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        turns = client.call("GET", f"/v1/sessions/{session}/turns").json()["turns"]
        if turns and "status" in turns[0]:
            found: Mapping[str, Any] = turns[0]
            return found
        time.sleep(0.05)
    raise AssertionError("the turn goes on")


@needs_nginx
def test_nginx_takes_the_bodies_that_the_server_takes(tmp_path: Path) -> None:
    stated = re.search(r"client_max_body_size (\d+)m;", NGINX)
    assert stated
    assert int(stated[1]) * 1024 * 1024 == Serve().max_body_bytes


def instructions(name: str) -> list[str]:
    """What each instruction of the Dockerfile of that name says, its lines joined."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)


def test_image_copies_what_is_there_and_not_ignored() -> None:
    copies = [words.split()[:-1] for words in instructions("COPY") if not words.startswith("--from=")]
    sources = [source for words in copies for source in words]
    assert {"requirements.txt", "meka", "handlers"} <= set(sources)
    rules = [line for line in (ROOT / ".dockerignore").read_text().split("\n") if line and line[0] != "#"]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not is_ignored(source, rules), source
    assert is_ignored("tests", rules)


def is_ignored(name: str, rules: list[str]) -> bool:
    """The last rule that fits decides; `!` brings back."""
    fitting = [rule for rule in rules if fnmatch(name, rule.removeprefix("!"))]
    return bool(fitting) and not fitting[-1].startswith("!")


def test_image_starts_the_server_and_asks_for_its_health() -> None:
    (entry,), (arguments,) = instructions("ENTRYPOINT"), instructions("CMD")
    assert json.loads(entry) == ["meka"]
    assert accepted_by_meka(json.loads(arguments))
    (health,) = instructions("HEALTHCHECK")
    probe = json.loads(health.partition("CMD ")[2])
    (port,) = instructions("EXPOSE")
    assert json.loads(arguments)[1:3] == ["--bind", f"0.0.0.0:{port}"]
    assert probe[-1].startswith(f"http://127.0.0.1:{port}/v1/")
    document = json.loads((ROOT / "meka/schema/openapi.json").read_text())
    assert probe[-1].partition(port)[2] in document["paths"]
    assert probe[0] in " ".join(instructions("RUN"))


@pytest.mark.skipif(not shutil.which("curl"), reason="the probe is curl's")
def test_image_probe_tells_a_server_from_none(tmp_path: Path) -> None:
    probe = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    with Server(tmp_path) as server:
        here = [*probe[:-1], probe[-1].replace("http://127.0.0.1:8080", server.base_url)]
        assert subprocess.run(here, capture_output=True, check=False).returncode == 0
    assert subprocess.run(here, capture_output=True, check=False).returncode != 0


def test_image_runs_as_nobody_in_particular_and_keeps_its_data_outside() -> None:
    assert instructions("USER") == ["meka"]
    (volumes,) = instructions("VOLUME")
    environ = dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())
    assert json.loads(volumes) == [environ["MEKA_CONFIG_DIR"], environ["MEKA_DATA_DIR"]]
    assert all(base.startswith("python:3.11-slim") for base in instructions("FROM"))
    assert any("bubblewrap" in command for command in instructions("RUN"))

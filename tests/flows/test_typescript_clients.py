"""The published contract in TypeScript: two generators take it, tsc takes their clients, a server answers."""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.serving import TOKEN, Server, say

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "clients/typescript"
FILES = ("package.json", "package-lock.json", ".npmrc", "openapi-ts.config.ts", "tsconfig.json", "smoke.ts")
CONTRACT = Path("meka/schema/openapi.json")
OLDEST_NODE = (20, 19)
INSTALL_SECONDS = 90
RUN_SECONDS = 100

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("typescript")]


def start(command: Sequence[str], cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command as it ended; `stdout` holds both streams."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )


def run(command: Sequence[str], cwd: Path, **environ: str) -> str:
    """What the command printed, on both streams."""
    done = start(command, cwd, **environ)
    assert done.returncode == 0, done.stdout
    return done.stdout


@functools.cache
def reason_to_skip() -> str:
    """Why the generators cannot run here; empty where they can."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "node and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor, *_ = version.strip().removeprefix("v").split(".")
    return "" if (int(major), int(minor)) >= OLDEST_NODE else f"node {version.strip()} is too old"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of clients/typescript with its packages and the contract where it looks for them."""
    if reason := reason_to_skip():
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("typescript")
    (root / CONTRACT).parent.mkdir(parents=True)
    shutil.copy(ROOT / CONTRACT, root / CONTRACT)
    project = root / "clients/typescript"
    project.mkdir(parents=True)
    for name in FILES:
        shutil.copy(SOURCE / name, project / name)
    install(project)
    return project


def install(project: Path) -> None:
    """What the lock file says, from npm's registry; skips where that cannot be reached."""
    once = ["--fetch-retries=1", "--fetch-timeout=20000"]
    command = ["npm", "ci", "--ignore-scripts", "--prefer-offline", *once]
    try:
        done = subprocess.run(
            command, cwd=project, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not install the packages within {INSTALL_SECONDS} s")
    unreachable = ("ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH")
    if any(sign in done.stderr for sign in unreachable):
        pytest.skip("npm's registry cannot be reached")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def generated(project: Path) -> tuple[Path, str]:
    """The project with both clients in it, and what the generators said."""
    return project, run(["npm", "run", "--silent", "generate"], project)


def test_generators_take_the_contract_without_a_warning(generated: tuple[Path, str]) -> None:
    project, said = generated
    assert {path.name for path in (project / "generated").iterdir()} == {"schema.ts", "sdk"}
    assert not [word for word in ("warn", "error", "deprecat", "⚠") if word in said.lower()], said


def test_sdk_has_a_function_for_each_operation(generated: tuple[Path, str]) -> None:
    written = (generated[0] / "generated/sdk/sdk.gen.ts").read_text()
    document = json.loads((ROOT / CONTRACT).read_text())
    operations = [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    assert len(operations) > 40
    assert [name for name in operations if f"export const {camel_case(name)} = " not in written] == []


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


@pytest.fixture(scope="module")
def built(generated: tuple[Path, str]) -> tuple[Path, str]:
    """The project compiled, and what the compiler had to say of it; on an error nothing is written."""
    project, _ = generated
    done = start(["npm", "run", "--silent", "build"], project)
    return project, done.stdout


def test_clients_pass_the_type_check(built: tuple[Path, str]) -> None:
    project, said = built
    assert said == ""
    assert (project / "built/smoke.js").exists()


def test_clients_drive_a_server(built: tuple[Path, str], tmp_path: Path) -> None:
    project, _ = built
    with Server(tmp_path, rounds=[say(text) for text in ("one", "two", "three", "four")]) as server:
        printed = run(["node", "built/smoke.js", server.base_url], project, MEKA_TOKEN=TOKEN)
    seen = json.loads(printed)
    for client, said in (("sdk", "one"), ("types", "three")):
        assert seen[client] == {
            "listed": True,
            "said": said,
            "messages": 4,
            "events": ["turn.started", "message.appended", "assistant_text.delta", "turn.finished"],
            "problem": "https://meka.run/errors/session-not-found",
        }

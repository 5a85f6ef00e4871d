"""README.md as a newcomer follows it: its marked blocks run in bash, in order, against a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

import pytest

from meka.config.load import load_config
from tests.serving import TOKEN, Server, say, use

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^<!-- run: (?P<name>[a-z]+) -->\n```sh\n(?P<script>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_SECONDS = 60
CALLS = ("calls", "create", "turn", "stream", "detach", "cancel", "inbox", "messages")
ROUNDS = (
    use(("call_1", "file_find", {"glob": "*"})),
    say("There is one file."),
    say("Hello."),
    [{"type": "text", "text": "Well,"}, {"type": "sleep", "ms": 60_000}],
    say("Noted."),
)

pytestmark = pytest.mark.skipif(
    not shutil.which("bash") or not shutil.which("curl"), reason="the README's commands need bash and curl"
)


def blocks() -> dict[str, str]:
    return {match["name"]: match["script"] for match in BLOCK.finditer(README.read_text())}


def run(script: str, cwd: Path, **environ: str) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=cwd,
        env={"PATH": path, "no_proxy": "127.0.0.1", **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SHELL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each block printed, all of them run in one shell."""
    root = tmp_path_factory.mktemp("readme")
    (root / "work").mkdir()
    (root / "work" / "notes.txt").write_text("x\n")
    found = blocks()
    script = "\n".join(f"echo '=== {name}'\n{found[name]}" for name in CALLS)
    with Server(root / "server", rounds=ROUNDS) as server:
        text = run(script, root / "work", MEKA=server.base_url, MEKA_API_TOKEN=TOKEN, HOME=str(root))
    parts = re.split(r"^=== ([a-z]+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_readme_marks_every_block_that_the_tests_run() -> None:
    assert set(blocks()) == {"account", "local", *CALLS}


def test_create_block_prints_the_session_id(printed: dict[str, str]) -> None:
    assert uuid.UUID(printed["create"].strip())


def test_turn_block_prints_the_whole_turn(printed: dict[str, str]) -> None:
    answer = json.loads(printed["turn"])
    assert answer["stop_reason"] == "end_turn"
    assert answer["messages"][-1]["content"] == [{"type": "text", "text": "There is one file."}]
    assert "notes.txt" in json.dumps(answer["messages"])


def test_stream_block_prints_events_from_start_to_terminal(printed: dict[str, str]) -> None:
    names = re.findall(r"^event: (.*)$", printed["stream"], re.MULTILINE)
    assert names[0] == "turn.started"
    assert names[-1] == "turn.finished"
    assert '"text":"Hello."' in printed["stream"].replace('": "', '":"')


def test_detach_block_prints_a_record_without_an_ending(printed: dict[str, str]) -> None:
    record = json.loads(printed["detach"])
    assert record["source"] == "client"
    assert "ended_at" not in record


def test_cancel_block_prints_how_the_turn_ended(printed: dict[str, str]) -> None:
    assert printed["cancel"].split() == ["204", "canceled"]


def test_inbox_block_prints_the_item_that_waits(printed: dict[str, str]) -> None:
    item = json.loads(printed["inbox"])
    assert (item["class"], item["state"], item["replayed"]) == ("steer", "pending", False)


def test_messages_block_prints_history_with_what_was_said_before_the_cancel(printed: dict[str, str]) -> None:
    history = json.loads(printed["messages"])
    assert history["total"] == len(history["messages"])
    assert "Well," in json.dumps(history["messages"])
    assert "One more thing." in json.dumps(history["messages"])


def run_commands(script: str, home: Path) -> str:
    """Run a block that calls `meka`, as someone whose home is `home`."""
    command = home / "bin" / "meka"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m meka "$@"\n')
    command.chmod(0o755)
    environ = {"HOME": str(home), "ANTHROPIC_API_KEY": "sk-test", "PYTHONPATH": str(README.parent)}
    return run(f'PATH="{command.parent}:$PATH"\n{script}', home, **environ)


@pytest.mark.parametrize("names", [("local",), ("account", "local")], ids="-".join)
def test_local_block_leaves_a_configuration_that_serves(tmp_path: Path, names: tuple[str, ...]) -> None:
    run_commands("\n".join(blocks()[name] for name in names), tmp_path)
    loaded = load_config(tmp_path / ".config" / "meka" / "config.toml", {"MEKA_API_TOKEN": "t"})
    assert [token.secret for token in loaded.tokens] == ["t"]
    assert loaded.config.default_profile == "small"


def test_account_block_leaves_a_configuration_that_serves(tmp_path: Path) -> None:
    listed = run_commands(blocks()["account"], tmp_path)
    assert re.search(r"main +work +anthropic-messages +\S+ +yes", listed)
    config = tmp_path / ".config" / "meka" / "config.toml"
    assert "sk-test" not in config.read_text()
    assert tomllib.loads(config.read_text())["serve"]["tokens"][0]["token"] == "${MEKA_API_TOKEN}"
    assert load_config(config, {"MEKA_API_TOKEN": "t", "HOME": str(tmp_path)}).tokens[0].secret == "t"

"""`meka --oneshot` as a child process, on a scripted model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import say, use

CONFIG = """
[accounts.mock]
backend = "openai-chat-completions"

[profiles.scripted]
account = "mock"
model = "scripted-1"
"""


def run_oneshot(root: Path, target: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """One turn, at level workspace in `root`/work, whose model writes to `target`."""
    for name in ("config", "data", "work"):
        (root / name).mkdir()
    (root / "config" / "config.toml").write_text(CONFIG)
    rounds = [use(("call_1", "file_write", {"path": str(target), "content": "x"})), say("Done.")]
    (root / "script.json").write_text(json.dumps(rounds))
    command = [sys.executable, "-m", "meka", "--oneshot", "-p", "go", "--format", "json", "--permission"]
    return subprocess.run(
        [*command, "workspace", *arguments],
        cwd=root / "work",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "MEKA_CONFIG_DIR": str(root / "config"),
            "MEKA_DATA_DIR": str(root / "data"),
            "MEKA_MOCK_PROVIDER": "1",
            "MEKA_MOCK_PROVIDER_SCRIPT": str(root / "script.json"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("arguments", "is_refused"), [((), True), (("--writable-root", "../other"), False)])
def test_oneshot_writes_beside_its_directory_only_where_a_root_was_given(
    tmp_path: Path, arguments: tuple[str, ...], is_refused: bool
) -> None:
    (tmp_path / "other").mkdir()
    done = run_oneshot(tmp_path, tmp_path / "other" / "x.txt", *arguments)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [call["is_error"] for call in answer["tool_calls"]] == [is_refused]
    assert (tmp_path / "other" / "x.txt").exists() is not is_refused


def test_oneshot_refuses_a_root_that_is_no_directory(tmp_path: Path) -> None:
    done = run_oneshot(tmp_path, tmp_path / "x.txt", "--writable-root", str(tmp_path / "absent"))
    assert done.returncode == 2
    assert "absent" in done.stderr

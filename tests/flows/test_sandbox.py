"""Commands of a whole server whose sandbox backend is pinned."""

from pathlib import Path

import pytest

from meka.agent.tools.sandbox import probe
from meka.config.model import SandboxBackend
from tests.serving import Client, Server, say, use

FOUND = probe(SandboxBackend.BUBBLEWRAP_LANDLOCK)
ALONE = probe(SandboxBackend.LANDLOCK)


def run_command(root: Path, backend: SandboxBackend) -> tuple[bool, str]:
    """Whether a command at level workspace failed, and what the model was told of it."""
    command = f"touch inside; touch /usr/outside; cat {root}/config/config.toml"
    rounds = [use(("c1", "shell_execute", {"command": command})), say("done")]
    with Server(root, rounds, more=f'[shell]\nsandbox_backend = "{backend}"') as server:
        client = Client(server.base_url)
        session_id = client.session(permission="workspace")
        (ended,) = [event.data for event in client.stream(session_id) if event.name == "tool_call.completed"]
        return bool(ended["is_error"]), str(client.messages(session_id))


@pytest.mark.skipif(not FOUND.usable, reason=f"not usable: {FOUND.reason}")
def test_command_is_held_by_bubblewrap_and_landlock(tmp_path: Path) -> None:
    is_error, told = run_command(tmp_path, SandboxBackend.BUBBLEWRAP_LANDLOCK)
    assert is_error
    assert "No such file" in told
    assert "default_profile" not in told
    assert (tmp_path / "work/inside").exists()
    assert not Path("/usr/outside").exists()


@pytest.mark.skipif(ALONE.usable, reason="this kernel can hold a command by Landlock alone")
def test_command_is_an_error_where_the_pinned_backend_does_not_work(tmp_path: Path) -> None:
    is_error, told = run_command(tmp_path, SandboxBackend.LANDLOCK)
    assert is_error
    assert "the sandbox backend landlock is not usable on this host" in told
    assert not (tmp_path / "work/inside").exists()

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


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("shell_execute", {"command": "cat moved/config.toml"}),
        ("file_read", {"path": "moved/config.toml"}),
        ("file_search", {"pattern": "default_profile", "path": "moved"}),
    ],
)
def test_no_tool_reads_a_configuration_that_was_moved_while_the_server_runs(
    tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    rounds = [use(("c1", tool, arguments)), say("done")]
    with Server(tmp_path, rounds) as server:
        client = Client(server.base_url)
        session_id = client.session(permission="workspace")
        (tmp_path / "config").rename(tmp_path / "work/moved")
        list(client.stream(session_id))
        told = str(client.messages(session_id))
    assert "scripted-1" not in told
    assert "was moved, replaced or removed" in told or "needs the unrestricted level" in told

"""meka's own directories: what is noticed when one is moved, and that no tool works on then."""

import dataclasses
from pathlib import Path

import pytest

from meka.agent.tools.base import Tool, ToolContext, ToolError
from meka.agent.tools.file_read import FileRead
from meka.agent.tools.file_write import FileWrite, PathLocks
from meka.agent.tools.private import PrivateDirectories
from meka.agent.tools.sandbox import Sandbox, probe
from meka.agent.tools.search import FileFind, FileSearch
from meka.agent.tools.shell import ShellTool
from meka.base.levels import Level
from meka.config.model import SandboxBackend
from tests.fakes import make_context


def test_directories_that_stand_where_they_stood_are_not_displaced(tmp_path: Path) -> None:
    there, never = tmp_path / "there", tmp_path / "never"
    there.mkdir()
    private = PrivateDirectories((there, never))
    (there / "file").write_text("x")
    assert private.find_displaced() is None
    never.mkdir()
    assert private.find_displaced() is None
    never.rename(tmp_path / "moved")
    assert private.find_displaced() == never


@pytest.mark.parametrize("instead", ["nothing", "directory", "link"])
def test_directory_that_was_moved_or_replaced_is_displaced(tmp_path: Path, instead: str) -> None:
    directory, other = tmp_path / "in/meka", tmp_path / "other"
    directory.mkdir(parents=True)
    other.mkdir()
    private = PrivateDirectories((directory,))
    (tmp_path / "in").rename(tmp_path / "moved")
    if instead == "directory":
        directory.mkdir(parents=True)
    if instead == "link":
        (tmp_path / "in").mkdir()
        directory.symlink_to(other)
    assert private.find_displaced() == directory
    if instead == "nothing":
        (tmp_path / "moved").rename(tmp_path / "in")
        assert private.find_displaced() is None


def test_directory_that_was_moved_behind_a_link_stays_in_its_place(tmp_path: Path) -> None:
    directory = tmp_path / "meka"
    directory.mkdir()
    private = PrivateDirectories((directory,))
    directory.rename(tmp_path / "moved")
    directory.symlink_to(tmp_path / "moved")
    assert private.find_displaced() is None


SHELL = ShellTool(Sandbox(True, None, probe(SandboxBackend.BUBBLEWRAP)))
CALLS = [
    pytest.param(FileRead(), {"path": "{moved}/config.toml"}, id="file_read"),
    pytest.param(FileWrite(PathLocks()), {"path": "new", "content": "x"}, id="file_write"),
    pytest.param(FileFind(), {"glob": "**"}, id="file_find"),
    pytest.param(FileSearch(), {"pattern": "secret"}, id="file_search"),
    pytest.param(SHELL, {"command": "touch new"}, id="shell"),
]


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    """One whose configuration was moved to where any session reads."""
    made = make_context(tmp_path)
    (made.private_dirs[0] / "config.toml").write_text("secret")
    private = PrivateDirectories(made.private_dirs)
    made.private_dirs[0].rename(made.working_directory / "moved")
    return dataclasses.replace(made, find_displaced=private.find_displaced)


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.parametrize("level", [Level.READ, Level.WORKSPACE])
def test_tool_refuses_while_a_private_directory_is_displaced(
    context: ToolContext, tool: Tool, arguments: dict[str, str], level: Level
) -> None:
    call = dataclasses.replace(context, level=lambda: level)
    given = {
        name: value.format(moved=context.working_directory / "moved") for name, value in arguments.items()
    }
    with pytest.raises(ToolError, match=r"own directory .*/config was moved"):
        tool.run(given, call)
    assert not (context.working_directory / "new").exists()


def test_tool_works_at_unrestricted_while_a_private_directory_is_displaced(context: ToolContext) -> None:
    call = dataclasses.replace(context, level=lambda: Level.UNRESTRICTED)
    assert "secret" in FileRead().run({"path": "moved/config.toml"}, call).text

"""Directories, the environment above the file, and where standing instructions come from."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.base.levels import Level
from meka.config.environment import Flags, apply_overrides, mcp_tool_timeout
from meka.config.instructions import InstructionSource, read_instructions
from meka.config.load import load_text
from meka.config.model import Config, Display, Permissions, SandboxBackend, Shell
from meka.config.places import Places, expand_home, find_places

HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("environ", "platform", "config", "data"),
    [
        (HOME, "linux", "/home/ada/.config/meka", "/home/ada/.local/share/meka"),
        (HOME | {"XDG_CONFIG_HOME": "/x", "XDG_DATA_HOME": "/y"}, "linux", "/x/meka", "/y/meka"),
        (HOME | {"XDG_CONFIG_HOME": "rel"}, "linux", "/home/ada/.config/meka", "/home/ada/.local/share/meka"),
        (
            HOME,
            "darwin",
            "/home/ada/Library/Application Support/meka",
            "/home/ada/Library/Application Support/meka",
        ),
        (HOME | {"APPDATA": "/roam"}, "win32", "/roam/meka", "/roam/meka"),
        (HOME | {"MEKA_CONFIG_DIR": "/c", "MEKA_DATA_DIR": "/d"}, "linux", "/c", "/d"),
    ],
)
def test_places_are_found(environ: Mapping[str, str], platform: str, config: str, data: str) -> None:
    places, warnings = find_places(environ, platform)
    assert (places.config_dir, places.data_dir) == (Path(config), Path(data))
    assert places.config_path == Path(config) / "config.toml"
    assert places.store_path == Path(data) / "meka.db"
    assert warnings == ()


@pytest.mark.parametrize("value", ["", "relative/dir", "~/meka"])
def test_directory_that_is_not_absolute_is_warned_of_and_ignored(value: str) -> None:
    places, warnings = find_places(HOME | {"MEKA_CONFIG_DIR": value, "MEKA_DATA_DIR": value}, "linux")
    assert places.config_dir == Path("/home/ada/.config/meka")
    assert warnings == (
        "MEKA_CONFIG_DIR is not an absolute path and is ignored",
        "MEKA_DATA_DIR is not an absolute path and is ignored",
    )


@pytest.mark.parametrize(
    ("path", "expanded"), [("~/a", "/home/ada/a"), ("~", "/home/ada"), ("~bob/a", "~bob/a"), ("/a/~", "/a/~")]
)
def test_home_is_expanded_at_the_head_alone(path: str, expanded: str) -> None:
    assert expand_home(path, HOME) == expanded


def test_flag_stands_above_variable_and_key() -> None:
    config = Config(
        permissions=Permissions(default=Level.NONE), shell=Shell(sandbox_backend=SandboxBackend.LANDLOCK)
    )
    environ = {"MEKA_PERMISSION": "workspace", "MEKA_SANDBOX_BACKEND": "bubblewrap"}
    plain, _ = apply_overrides(config, {})
    assert (plain.permissions.default, plain.shell.sandbox_backend) == (Level.NONE, SandboxBackend.LANDLOCK)
    varied, warnings = apply_overrides(config, environ)
    assert (varied.permissions.default, varied.shell.sandbox_backend) == (
        Level.WORKSPACE,
        SandboxBackend.BUBBLEWRAP,
    )
    assert warnings == ()
    flags = Flags(Level.READ, SandboxBackend.BUBBLEWRAP_LANDLOCK, profile="p", stream=False)
    flagged, _ = apply_overrides(config, environ, flags)
    assert (flagged.permissions.default, flagged.default_profile) == (Level.READ, "p")
    assert flagged.display.stream is False


def test_stream_flag_never_turns_streaming_on() -> None:
    changed, _ = apply_overrides(Config(display=Display(stream=False)), {}, Flags(stream=True))
    assert changed.display.stream is False


def test_bad_variables_are_warned_of_and_fall_through() -> None:
    environ = {"MEKA_PERMISSION": "Read", "MEKA_SANDBOX_BACKEND": "jail"}
    config, warnings = apply_overrides(Config(), environ)
    assert config == Config()
    assert [warning.split(" ")[0] for warning in warnings] == ["MEKA_PERMISSION", "MEKA_SANDBOX_BACKEND"]


def test_level_that_is_not_enabled_is_warned_of_and_falls_back() -> None:
    config = load_text('[permissions]\nenabled = ["read"]\n', Path("/c"), {}, serving=False).config
    changed, warnings = apply_overrides(config, {}, Flags(permission=Level.UNRESTRICTED))
    assert changed.permissions.default is Level.READ
    assert warnings == ("the level 'unrestricted' is not enabled in [permissions]; the default is used",)


@pytest.mark.parametrize(("value", "seconds"), [(None, 600), ("5m", 300), ("0s", 600), ("x", 600)])
def test_mcp_tool_timeout_has_a_default(value: str | None, seconds: float) -> None:
    found, warnings = mcp_tool_timeout({} if value is None else {"MEKA_MCP_TOOL_TIMEOUT": value})
    assert found == seconds
    assert bool(warnings) == (value in ("0s", "x"))


def test_instructions_come_from_the_highest_source(tmp_path: Path) -> None:
    places = Places(tmp_path, tmp_path)
    file, other = tmp_path / "instructions.md", tmp_path / "other.md"
    nothing = read_instructions(places, {})
    assert (nothing.content, nothing.source, nothing.writable) == ("", InstructionSource.OWN_FILE, True)
    file.write_text("own")
    assert (read_instructions(places, {}).content, read_instructions(places, {}).path) == ("own", file)
    (tmp_path / "instructions").mkdir()
    assert read_instructions(places, {}).content == "own"
    (tmp_path / "instructions" / "b.md").write_text("second\n")
    (tmp_path / "instructions" / "a.md").write_text("first\n")
    (tmp_path / "instructions" / "c.txt").write_text("no")
    found = read_instructions(places, {})
    assert (found.content, found.source, found.writable) == (
        "first\n\nsecond",
        InstructionSource.DIRECTORY,
        False,
    )
    other.write_text("other")
    found = read_instructions(places, {"MEKA_INSTRUCTIONS_FILE": str(other)})
    assert (found.content, found.source, found.path) == ("other", InstructionSource.FILE_VARIABLE, other)
    found = read_instructions(places, {"MEKA_INSTRUCTIONS_FILE": str(tmp_path / "instructions")})
    assert found.content == "first\n\nsecond"
    found = read_instructions(places, {"MEKA_INSTRUCTIONS": "text"})
    assert (found.content, found.source, found.path) == ("text", InstructionSource.TEXT_VARIABLE, None)
    found = read_instructions(places, {"MEKA_INSTRUCTIONS": "text"}, flag="flag")
    assert (found.content, found.source) == ("flag", InstructionSource.FLAG)


def test_both_instruction_variables_conflict(tmp_path: Path) -> None:
    environ = {"MEKA_INSTRUCTIONS": "x", "MEKA_INSTRUCTIONS_FILE": "/y"}
    with pytest.raises(ConfigurationError, match="both set"):
        read_instructions(Places(tmp_path, tmp_path), environ)


def test_instructions_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    places = Places(tmp_path, tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_instructions(places, {"MEKA_INSTRUCTIONS_FILE": str(tmp_path / "absent.md")})
    places.instructions_file.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_instructions(places, {})


def test_at_most_a_hundred_instruction_files_are_read(tmp_path: Path) -> None:
    directory = tmp_path / "instructions"
    directory.mkdir()
    for index in range(103):
        (directory / f"{index:03}.md").write_text(str(index))
    content = read_instructions(Places(tmp_path, tmp_path), {}).content
    assert content.split("\n\n") == [str(index) for index in range(100)]

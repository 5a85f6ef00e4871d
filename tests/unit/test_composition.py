"""What is made on the disk when the program is put together."""

from pathlib import Path

from meka.agent.providers.scripted import ScriptedProvider
from meka.bootstrap import load_installation, open_core
from meka.config.options import RunOptions


def test_directory_of_the_configuration_is_made_so_that_no_command_makes_it(tmp_path: Path) -> None:
    config = tmp_path / "home/.config/meka"
    environ = {"MEKA_CONFIG_DIR": str(config), "MEKA_DATA_DIR": str(tmp_path / "data")}
    reader, loaded = load_installation(RunOptions(environ), serving=False)
    assert not config.exists()
    with open_core(reader, loaded, provider=ScriptedProvider()):
        assert config.stat().st_mode & 0o777 == 0o700

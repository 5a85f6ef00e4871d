"""Where the installation lives: the configuration and data directories, from environment and platform."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONFIG_FILE = "config.toml"
STORE_FILE = "meka.db"


@dataclass(frozen=True, slots=True)
class Places:
    """The directories of one installation, absolute; they need not exist."""

    config_dir: Path
    data_dir: Path

    @property
    def config_path(self) -> Path:
        return self.config_dir / CONFIG_FILE

    @property
    def store_path(self) -> Path:
        return self.data_dir / STORE_FILE

    @property
    def skills_dir(self) -> Path:
        return self.config_dir / "skills"

    @property
    def instructions_file(self) -> Path:
        return self.config_dir / "instructions.md"

    @property
    def instructions_dir(self) -> Path:
        return self.config_dir / "instructions"


def find_places(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Places, tuple[str, ...]]:
    """The installation that `environ` points at, and what to warn of."""
    warnings: list[str] = []
    config = _stated_dir("MEKA_CONFIG_DIR", environ, warnings)
    data = _stated_dir("MEKA_DATA_DIR", environ, warnings)
    places = Places(
        config_dir=config or _platform_dir(environ, platform, "XDG_CONFIG_HOME", ".config"),
        data_dir=data or _platform_dir(environ, platform, "XDG_DATA_HOME", ".local/share"),
    )
    return places, tuple(warnings)


def _stated_dir(variable: str, environ: Mapping[str, str], warnings: list[str]) -> Path | None:
    value = environ.get(variable)
    if value is None:
        return None
    if not value or not Path(value).is_absolute():
        warnings.append(f"{variable} is not an absolute path and is ignored")
        return None
    return Path(value)


def _platform_dir(environ: Mapping[str, str], platform: str, xdg_variable: str, xdg_default: str) -> Path:
    if platform == "darwin":
        return home_dir(environ) / "Library" / "Application Support" / "meka"
    if platform == "win32":
        roaming = environ.get("APPDATA")
        return (Path(roaming) if roaming else home_dir(environ) / "AppData" / "Roaming") / "meka"
    stated = environ.get(xdg_variable, "")
    base = Path(stated) if stated and Path(stated).is_absolute() else home_dir(environ) / xdg_default
    return base / "meka"


def home_dir(environ: Mapping[str, str]) -> Path:
    """The person's home: `HOME` (or `USERPROFILE`), or what the system knows."""
    stated = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(stated) if stated else Path.home()


def expand_home(path: str, environ: Mapping[str, str]) -> str:
    """`path` with a `~` at its head replaced by the home directory."""
    if path == "~" or path.startswith("~/"):
        return str(home_dir(environ) / path[2:])
    return path

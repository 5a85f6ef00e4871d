"""One installation's file, read the way this process runs on it: under its environment and its flags."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from meka.config.environment import apply_overrides
from meka.config.load import LoadedConfig, load_text, read_config_text
from meka.config.model import Config
from meka.config.options import RunOptions
from meka.config.places import Places

_LIVE_SECTIONS = frozenset({"default_profile", "accounts", "profiles"})
_LIVE_KEYS: Mapping[str, frozenset[str]] = {
    "thinking": frozenset({"budget"}),
    "session": frozenset({"context_window"}),
    "serve": frozenset({"tokens"}),
    "mcp": frozenset({"servers"}),
}


@dataclass(frozen=True, slots=True)
class ConfigReader:
    """Reads the file whole. `check` refuses what parses and yet could not be started on."""

    places: Places
    options: RunOptions = field(repr=False)
    serving: bool
    check: Callable[[Config], object]

    def read(self) -> LoadedConfig:
        """The file as it stands now. Raises: ConfigurationError."""
        return self.parse(read_config_text(self.places.config_path))

    def parse(self, text: str) -> LoadedConfig:
        """A text that stands, or would stand, in the file. Raises: ConfigurationError."""
        environ = self.options.environ
        loaded = load_text(text, self.places.config_path, environ, serving=self.serving)
        config, warnings = apply_overrides(loaded.config, environ, self.options.flags)
        self.check(config)
        return replace(loaded, config=config, warnings=(*loaded.warnings, *warnings))


def restart_sections(started: Mapping[str, object], current: Mapping[str, object]) -> list[str]:
    """The sections that differ and that only a restart applies, in alphabetical order."""
    return sorted(
        name
        for name in {*started, *current} - _LIVE_SECTIONS
        if _restart_part(name, started) != _restart_part(name, current)
    )


def _restart_part(name: str, document: Mapping[str, object]) -> object:
    section = document.get(name, {})
    if not isinstance(section, Mapping):
        return section
    return {key: value for key, value in section.items() if key not in _LIVE_KEYS.get(name, ())}

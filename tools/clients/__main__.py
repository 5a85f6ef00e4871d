"""`python -m tools.clients` makes the Python client of openapi.yaml; with `--check` it says what differs."""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from tools.codegen import document
from tools.codegen.document import Document
from tools.codegen.python import string

_ROOT = Path(__file__).resolve().parents[2]
_CLIENT = Path("clients/python/meka_client")
_EVENTS = "feed_events.py"
_CONFIG = {"post_hooks": ["ruff check . --fix-only --select=I,F401 --quiet", "ruff format . --quiet"]}
_HEAD = '''"""GENERATED from openapi.yaml by tools/clients: what the feeds carry."""

from collections.abc import Mapping
from typing import Any

from . import models

MODELS: Mapping[str, Any] = {
'''


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the result is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.clients", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what differs from the document")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory, "meka_client")
        generate(_ROOT / "openapi.yaml", made)
        if options.check:
            return check(made, _ROOT / _CLIENT)
        shutil.rmtree(_ROOT / _CLIENT, ignore_errors=True)
        shutil.copytree(made, _ROOT / _CLIENT)
    return 0


def generate(source: Path, target: Path) -> None:
    """Make the client of the document `source` in `target`, a directory that is not there yet."""
    loaded = document.load(source)
    config = target.with_name("config.yaml")
    config.write_text(yaml.safe_dump(_CONFIG), "utf-8")
    # The generator looks for the formatter on the path, and this interpreter's comes with it.
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [
        *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"),
        *("--path", str(source), "--output-path", str(target), "--config", str(config)),
        "--fail-on-warning",
    ]
    subprocess.run(command, check=True, env={**os.environ, "PATH": tools}, stdout=subprocess.DEVNULL)
    shutil.rmtree(target / ".ruff_cache", ignore_errors=True)
    (target / "py.typed").touch()
    (target / _EVENTS).write_text(render_events(loaded, known_models(target)), "utf-8")


def known_models(client: Path) -> frozenset[str]:
    """The classes that the client has for the document's schemas."""
    names = re.findall(r'^    "(\w+)",$', (client / "models/__init__.py").read_text("utf-8"), re.MULTILINE)
    return frozenset(names)


def render_events(source: Document, models: frozenset[str]) -> str:
    """The table of the events that feeds carry. Raises: KeyError for a payload that has no class."""
    rows = [f"    {string(name)}: models.{model},\n" for name, model in _payloads(source.events, models)]
    terminals = [f"        {string(name)},\n" for name, kind in source.events.items() if kind["terminal"]]
    return f"{_HEAD}{''.join(rows)}}}\n\nTERMINAL = frozenset(\n    {{\n{''.join(terminals)}    }}\n)\n"


def _payloads(
    events: Mapping[str, Mapping[str, Mapping[str, str]]], models: frozenset[str]
) -> Iterator[tuple[str, str]]:
    for name, kind in events.items():
        model = kind["schema"]["$ref"].rpartition("/")[2]
        if model not in models:
            raise KeyError(f"the payload {model} of {name} has no class")
        yield name, model


def check(made: Path, committed: Path) -> int:
    """Say which files differ; 1 when there are any."""
    differing = sorted(_differences(made, committed))
    for name in differing:
        print(f"clients: {name} differs")
    if differing:
        print("the Python client differs from openapi.yaml; run `make clients`")
    return 1 if differing else 0


def _differences(made: Path, committed: Path) -> Iterator[str]:
    names = {
        str(path.relative_to(root))
        for root in (made, committed)
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    _, mismatched, missing = filecmp.cmpfiles(made, committed, names, shallow=False)
    yield from mismatched
    yield from missing


if __name__ == "__main__":
    sys.exit(main())

"""The wheel holds all that the installed program needs, wherever it is run from."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "meka", "handlers")


def run(command: Sequence[str], cwd: Path, **environment: str) -> str:
    finished = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, without a network: what a build leaves behind stays out of the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, tree / name)
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"], tree)
    (built,) = (tree / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages alone; their dependencies come from this environment."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    run([*pip, "--target", str(target), str(wheel)], target)
    return target


def test_wheel_carries_the_contract_and_each_module(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {
        path.relative_to(ROOT).as_posix()
        for package in ("meka", "handlers")
        for path in ROOT.glob(f"{package}/**/*.py")
    }
    assert modules <= names
    assert {"meka/schema/openapi.json", "meka/py.typed"} <= names


def test_wheel_carries_nothing_but_the_program(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"meka", "handlers"}


def test_wheel_is_imported_from_where_it_was_installed(installed, tmp_path):
    code = "import meka, handlers; print(meka.__file__); print(handlers.__file__)"
    found = run([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(installed)).split()
    assert all(Path(path).is_relative_to(installed) for path in found)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_wheel_runs_from_an_empty_directory(installed, tmp_path, option):
    said = run([sys.executable, "-m", "meka", option], tmp_path, PYTHONPATH=str(installed))
    assert "meka" in said
    assert list(tmp_path.iterdir()) == []

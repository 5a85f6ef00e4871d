"""What is built holds all that the installed program needs, wherever it is run from."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.serving import Server

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "openapi.yaml", "meka", "handlers")
DOCUMENT = "meka/schema/openapi.yaml"


def run(command: Sequence[str], cwd: Path, **environment: str) -> str:
    finished = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that is built from, links kept: what a build leaves behind stays out of the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, tree / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy(source, tree / name)
    return tree


@pytest.fixture(scope="module")
def sdist(tree: Path) -> Path:
    """Built without a network."""
    run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", "dist"], tree)
    (built,) = (tree / "dist").glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, so that neither lacks what the other has."""
    place = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as packed:
        packed.extractall(place, filter="data")
    (unpacked,) = place.iterdir()
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist"], unpacked)
    (built,) = (unpacked / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages alone; their dependencies come from this environment."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    run([*pip, "--target", str(target), str(wheel)], target)
    return target


def test_wheel_carries_the_contract_and_each_module(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {
        path.relative_to(ROOT).as_posix()
        for package in ("meka", "handlers")
        for path in ROOT.glob(f"{package}/**/*.py")
    }
    assert modules <= names
    assert {"meka/schema/openapi.json", DOCUMENT, "meka/py.typed"} <= names


def test_wheel_and_sdist_carry_the_document_itself(wheel: Path, sdist: Path) -> None:
    document = (ROOT / "openapi.yaml").read_bytes()
    assert zipfile.ZipFile(wheel).read(DOCUMENT) == document
    with tarfile.open(sdist) as packed:
        (member,) = (member for member in packed.getmembers() if member.name.endswith(f"/{DOCUMENT}"))
        content = packed.extractfile(member)
        assert content is not None
        assert member.isfile()
        assert content.read() == document


def test_wheel_carries_nothing_but_the_program(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"meka", "handlers"}


def test_wheel_is_imported_from_where_it_was_installed(installed: Path, tmp_path: Path) -> None:
    code = "import meka, handlers; print(meka.__file__); print(handlers.__file__)"
    found = run([sys.executable, "-c", code], tmp_path, PYTHONPATH=str(installed)).split()
    assert all(Path(path).is_relative_to(installed) for path in found)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_wheel_runs_from_an_empty_directory(installed: Path, tmp_path: Path, option: str) -> None:
    said = run([sys.executable, "-m", "meka", option], tmp_path, PYTHONPATH=str(installed))
    assert "meka" in said
    assert list(tmp_path.iterdir()) == []


def test_wheel_serves_from_an_empty_directory_what_the_document_says(installed: Path, tmp_path: Path) -> None:
    with Server(tmp_path, environ={"PYTHONPATH": str(installed)}) as server:
        client = server.client(token=None)
        with client.http:
            assert client.call("GET", "/v1/health/live").json() == {"status": "ok"}
            served = client.call("GET", "/v1/openapi.json").json()
        assert server.stop() == 0
    assert served == yaml.safe_load((installed / DOCUMENT).read_bytes())
    assert list((tmp_path / "work").iterdir()) == []

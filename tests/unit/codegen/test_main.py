import shutil
from pathlib import Path

import pytest

from tools.codegen.__main__ import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A top level with the project's document and everything generated from it."""
    shutil.copy(ROOT / "openapi.yaml", tmp_path)
    assert main(["--root", str(tmp_path)]) == 0
    return tmp_path


def contents(root: Path) -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in root.rglob("*") if path.is_file()}


def test_check_is_clean_for_the_committed_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_check_is_clean_right_after_writing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["--root", str(copy), "--check"]) == 0
    assert capsys.readouterr().out == ""


def test_second_writing_changes_nothing(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(copy)
    capsys.readouterr()
    assert main(["--root", str(copy)]) == 0
    assert capsys.readouterr().out == ""
    assert contents(copy) == before


def test_check_tells_drift_of_the_document_and_writes_nothing(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = copy / "openapi.yaml"
    document.write_text(document.read_text("utf-8").replace("Session not found", "No such session"), "utf-8")
    before = contents(copy)
    assert main(["--root", str(copy), "--check"]) == 1
    out = capsys.readouterr().out
    assert '-    "session-not-found": ProblemKind("Session not found", (404,)),' in out
    assert '+    "session-not-found": ProblemKind("No such session", (404,)),' in out
    assert "generated files differ from openapi.yaml; run `make gen`" in out
    assert contents(copy) == before


@pytest.mark.parametrize("name", ["meka/schema/types.py", "docs/reference/events.md"])
def test_check_tells_a_file_that_was_edited_by_hand(
    copy: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (copy / name).open("a", encoding="utf-8") as file:
        file.write("mine\n")
    assert main(["--root", str(copy), "--check"]) == 1
    out = capsys.readouterr().out
    assert f"--- {name} (committed)" in out
    assert "-mine" in out


def test_check_tells_a_missing_file(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "meka/schema/openapi.json").unlink()
    assert main(["--root", str(copy), "--check"]) == 1
    assert "meka/schema/openapi.json: missing" in capsys.readouterr().out


def test_long_difference_is_cut(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "docs/reference/schemas.md").write_text("", "utf-8")
    assert main(["--root", str(copy), "--check"]) == 1
    out = capsys.readouterr().out
    assert "more lines" in out
    assert len(out.splitlines()) < 30


def test_broken_document_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "openapi.yaml").write_text("a: 1\na: 2\n", "utf-8")
    assert main(["--root", str(tmp_path)]) == 1
    assert "'a' twice" in capsys.readouterr().err
    assert contents(tmp_path).keys() == {tmp_path / "openapi.yaml"}

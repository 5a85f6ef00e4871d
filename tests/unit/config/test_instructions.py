"""Standing instructions: the sources one above another, and the files that a session brings."""

import os
from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.config.instructions import InstructionSource, read_files, read_instructions
from meka.config.places import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "config" / "instructions").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    return Places(tmp_path / "config", tmp_path / "data")


@pytest.fixture
def work(places: Places, tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def test_sources_stand_one_above_another(places: Places, environ: dict[str, str]) -> None:
    assert read_instructions(places, environ).content == ""
    places.instructions_file.write_text("file")
    assert read_instructions(places, environ).writable
    (places.instructions_dir / "b.md").write_text("b\n")
    (places.instructions_dir / "a.md").write_text("a\n")
    (places.instructions_dir / "c.txt").write_text("c")
    found = read_instructions(places, environ)
    assert (found.content, found.writable) == ("a\n\nb", False)
    (places.config_dir.parent / "home" / "mine.md").write_text("mine")
    by_file = read_instructions(places, {**environ, "MEKA_INSTRUCTIONS_FILE": "~/mine.md"})
    assert (by_file.content, by_file.source) == ("mine", InstructionSource.FILE_VARIABLE)
    assert read_instructions(places, {**environ, "MEKA_INSTRUCTIONS": "said"}).content == "said"
    flagged = read_instructions(places, {**environ, "MEKA_INSTRUCTIONS": "said"}, "flag")
    assert (flagged.content, flagged.source, flagged.path) == ("flag", InstructionSource.FLAG, None)


def test_both_variables_at_once_are_refused(places: Places) -> None:
    environ = {"MEKA_INSTRUCTIONS": "x", "MEKA_INSTRUCTIONS_FILE": "y"}
    with pytest.raises(ConfigurationError, match="both"):
        read_instructions(places, environ)


def test_files_are_read_in_order_from_the_working_directory_and_home(
    work: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    (work / "AGENTS.md").write_text("\nof the project\n")
    (tmp_path / "home" / "own.md").write_text("of the person\n")
    (work / "rules").mkdir()
    (work / "rules" / "b.md").write_text("second\n")
    (work / "rules" / "a.md").write_text("first\n")
    (work / "rules" / "ignored.txt").write_text("no")
    absolute = tmp_path / "absolute.txt"
    absolute.write_text("by its path")
    entries = ("AGENTS.md", "~/own.md", "rules", str(absolute))
    text, warnings = read_files(entries, work, environ)
    assert text == "of the project\n\nof the person\n\nfirst\n\nsecond\n\nby its path"
    assert warnings == ()


def test_files_that_are_not_there_or_say_nothing_are_skipped(work: Path, environ: dict[str, str]) -> None:
    (work / "blank.md").write_text(" \n")
    (work / "empty").mkdir()
    entries = ("absent.md", "blank.md/below", "no/such/directory", "blank.md", "empty", "~/absent.md")
    assert read_files(entries, work, environ) == ("", ())


def test_files_that_cannot_be_read_are_warned_of_and_the_rest_is_kept(
    work: Path, environ: dict[str, str]
) -> None:
    (work / "binary.md").write_bytes(b"\xff\xfe")
    os.mkfifo(work / "pipe.md")
    (work / "loop.md").symlink_to("loop.md")
    (work / "good.md").write_text("good")
    text, warnings = read_files(("binary.md", "pipe.md", "loop.md", "nul\0.md", "good.md"), work, environ)
    assert text == "good"
    assert [warning.split(" at ")[0] for warning in warnings] == ["the instructions"] * 4
    assert str(work / "binary.md") in warnings[0]

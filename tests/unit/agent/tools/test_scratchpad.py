"""The `scratchpad_*` tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from meka.agent.tools.base import ToolContext, ToolError, ToolOutcome
from meka.agent.tools.file_write import PathLocks
from meka.agent.tools.scratchpad import scratchpad_tools
from meka.agent.tools.scratchpad_files import scratchpad_file_tools
from tests.fakes import FakeScratchpad, make_context

TOOLS = {
    tool.name.removeprefix("scratchpad_"): tool
    for tool in (*scratchpad_tools(), *scratchpad_file_tools(PathLocks()))
}


@pytest.fixture
def pad() -> FakeScratchpad:
    pad = FakeScratchpad()
    pad.put("notes", "one\ntwo\nthree\ntwo\n")
    pad.put("part_2", "second")
    pad.put("part_1", "first")
    pad.inherit("given", "from above")
    return pad


@pytest.fixture
def context(tmp_path: Path, pad: FakeScratchpad) -> ToolContext:
    return make_context(tmp_path, scratchpad=pad)


def run(context: ToolContext, name: str, /, **arguments: Any) -> ToolOutcome:
    return TOOLS[name].run(arguments, context)


def content(pad: FakeScratchpad, name: str) -> str | None:
    entry = pad.get(name)
    return entry and entry.content


def test_scratchpad_write_replaces(context: ToolContext, pad: FakeScratchpad) -> None:
    assert run(context, "write", name="notes", content="größer").text == "Stored 8 bytes in 'notes'."
    assert content(pad, "notes") == "größer"


def test_scratchpad_write_keeps_no_nul_and_no_lone_surrogate(
    context: ToolContext, pad: FakeScratchpad
) -> None:
    run(context, "write", name="n", content="a\x00\ud800")
    assert content(pad, "n") == "a\ufffd\ufffd"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "one\ntwo\nthree\ntwo\n\n(lines 1-4 of 4)"),
        ({"start": 2, "end": 3}, "two\nthree\n\n(lines 2-3 of 4)"),
        ({"start": 4, "end": 99}, "two\n\n(lines 4-4 of 4)"),
        ({"start": 5}, "(no lines: the entry has 4, start is 5)"),
        ({"regex": "t.o"}, "2:two\n4:two"),
        ({"regex": "t.o", "start": 3}, "4:two"),
        ({"regex": "absent"}, "(no matches in 4 lines)"),
    ],
)
def test_scratchpad_read_shows_the_lines_asked_for(
    context: ToolContext, arguments: Mapping[str, Any], text: str
) -> None:
    outcome = run(context, "read", name="notes", **arguments)
    assert outcome.text == text
    assert outcome.never_spill


@pytest.mark.parametrize(("room", "shown"), [(None, 300), (0, 300), (60_000, 600), (10_000_000, 1000)])
def test_scratchpad_read_stops_at_a_line_end_where_the_room_ends(
    tmp_path: Path, pad: FakeScratchpad, room: int | None, shown: int
) -> None:
    pad.put("long", "\n".join(["x" * 99] * 1000))
    context = make_context(tmp_path, scratchpad=pad, context_room=room)
    lines = run(context, "read", name="long").text.splitlines()
    assert len(lines) == shown + 2
    assert lines[-1].startswith(f"(lines 1-{shown} of 1000")
    assert ("start=301" in lines[-1]) is (shown == 300)


def test_scratchpad_read_cuts_a_line_that_is_too_long(context: ToolContext, pad: FakeScratchpad) -> None:
    pad.put("long", "é" * 100_000 + "\nnext")
    text = run(context, "read", name="long").text
    assert text.startswith("é" * 15_000 + "\n\n(lines 1-1 of 2; the line is too long and was cut")


def test_scratchpad_read_has_no_bound_when_its_result_goes_to_the_scratchpad(
    tmp_path: Path, pad: FakeScratchpad
) -> None:
    pad.put("long", "x" * 100_000)
    context = make_context(tmp_path, scratchpad=pad, unlimited=True)
    assert len(run(context, "read", name="long").text) > 100_000


def test_scratchpad_read_shows_the_first_hundred_matches(context: ToolContext, pad: FakeScratchpad) -> None:
    pad.put("many", "hit\n" * 150)
    lines = run(context, "read", name="many", regex="hit").text.splitlines()
    assert len(lines) == 101
    assert lines[-1] == "... (showing first 100 of 150 matches)"


def test_scratchpad_read_refuses_an_end_before_the_start(context: ToolContext) -> None:
    with pytest.raises(ToolError, match="before start"):
        run(context, "read", name="notes", start=3, end=2)


@pytest.mark.parametrize(
    ("arguments", "after"),
    [
        ({"content": ""}, ""),
        ({"old_string": "two", "new_string": "2"}, "one\n2\nthree\ntwo\n"),
        ({"old_string": "two", "new_string": "", "replace_all": True}, "one\n\nthree\n\n"),
    ],
)
def test_scratchpad_edit_changes_the_entry(
    context: ToolContext, pad: FakeScratchpad, arguments: Mapping[str, Any], after: str
) -> None:
    run(context, "edit", name="notes", **arguments)
    assert content(pad, "notes") == after


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"old_string": "two"},
        {"new_string": "two"},
        {"content": "x", "old_string": "two", "new_string": "2"},
        {"content": "x", "new_string": "2"},
        {"old_string": "", "new_string": "2"},
        {"old_string": "absent", "new_string": "2"},
    ],
)
def test_scratchpad_edit_refuses_what_it_cannot_do(
    context: ToolContext, pad: FakeScratchpad, arguments: Mapping[str, Any]
) -> None:
    with pytest.raises(ToolError):
        run(context, "edit", name="notes", **arguments)
    assert content(pad, "notes") == "one\ntwo\nthree\ntwo\n"


def test_scratchpad_list_shows_a_table(context: ToolContext) -> None:
    lines = run(context, "list").text.splitlines()
    assert lines[0].split() == ["Name", "Size", "Created", "Origin"]
    assert ["given", "10", "2026-01-01T00:00:00Z", "inherited"] in [line.split() for line in lines]
    assert lines[-1] == "4 entries, 39 bytes in all"


def test_scratchpad_list_says_so_when_empty(tmp_path: Path) -> None:
    assert run(make_context(tmp_path), "list").text == "The scratchpad is empty."


def test_scratchpad_delete_removes(context: ToolContext, pad: FakeScratchpad) -> None:
    assert run(context, "delete", name="notes").text == "Deleted 'notes'."
    assert pad.get("notes") is None


def test_scratchpad_rename_moves(context: ToolContext, pad: FakeScratchpad) -> None:
    run(context, "rename", old="part_1", new="first")
    assert (content(pad, "first"), pad.get("part_1")) == ("first", None)


@pytest.mark.parametrize(
    ("arguments", "merged"),
    [
        ({"sources": ["part_2", "given"], "format": "concat"}, "second\nfrom above"),
        ({"prefix": "part_"}, "=== part_1 ===\nfirst\n\n=== part_2 ===\nsecond"),
        ({"prefix": "part_", "format": "concat"}, "first\nsecond"),
    ],
)
def test_scratchpad_merge_joins(
    context: ToolContext, pad: FakeScratchpad, arguments: Mapping[str, Any], merged: str
) -> None:
    assert run(context, "merge", target="part_all", **arguments).text.startswith("Merged 2 entries.")
    assert content(pad, "part_all") == merged
    run(context, "merge", target="part_all", **arguments)
    assert content(pad, "part_all") == merged


def test_scratchpad_merge_can_make_json(context: ToolContext, pad: FakeScratchpad) -> None:
    run(context, "merge", target="all", sources=["part_1"], format="json_array")
    assert json.loads(content(pad, "all") or "") == [{"name": "part_1", "content": "first"}]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"name": "absent"}),
        ("edit", {"name": "absent", "content": "x"}),
        ("delete", {"name": "absent"}),
        ("rename", {"old": "absent", "new": "x"}),
        ("rename", {"old": "part_1", "new": "part_2"}),
        ("merge", {"target": "x"}),
        ("merge", {"target": "x", "sources": ["absent"]}),
        ("merge", {"target": "x", "prefix": "absent"}),
        ("merge", {"target": "x", "prefix": "p", "sources": ["part_1"]}),
        ("write", {"name": "given", "content": "x"}),
        ("edit", {"name": "given", "content": "x"}),
        ("delete", {"name": "given"}),
        ("rename", {"old": "given", "new": "x"}),
        ("merge", {"target": "given", "sources": ["part_1"]}),
    ],
)
def test_scratchpad_refuses_and_changes_nothing(
    context: ToolContext, pad: FakeScratchpad, name: str, arguments: Mapping[str, Any]
) -> None:
    before = pad.entries()
    with pytest.raises(ToolError):
        run(context, name, **arguments)
    assert pad.entries() == before


def test_scratchpad_load_file_takes_text_in(context: ToolContext, pad: FakeScratchpad) -> None:
    (context.working_directory / "a.txt").write_bytes(b"line\r\nline")
    assert run(context, "load_file", path="a.txt", name="a").text == "Stored 10 bytes in 'a'."
    assert content(pad, "a") == "line\r\nline"


@pytest.mark.parametrize("path", ["absent", ".", "binary", "../data/meka.db", "/proc/self/environ"])
def test_scratchpad_load_file_refuses_what_may_not_be_read(
    context: ToolContext, pad: FakeScratchpad, path: str
) -> None:
    (context.working_directory / "binary").write_bytes(b"\xff\xfe")
    (context.private_dirs[1] / "meka.db").write_text("secret")
    with pytest.raises(ToolError):
        run(context, "load_file", path=path, name="taken")
    assert pad.get("taken") is None


def test_scratchpad_save_file_writes_text_out(context: ToolContext) -> None:
    outcome = run(context, "save_file", name="notes", path="new/notes.txt")
    assert (context.working_directory / "new/notes.txt").read_text() == "one\ntwo\nthree\ntwo\n"
    assert outcome.change is None


def test_scratchpad_save_file_spares_a_file_that_changed_unless_forced(context: ToolContext) -> None:
    run(context, "save_file", name="notes", path="notes.txt")
    path = context.working_directory / "notes.txt"
    path.write_text("by someone else")
    with pytest.raises(ToolError, match="changed"):
        run(context, "save_file", name="given", path="notes.txt")
    run(context, "save_file", name="given", path="notes.txt", force=True)
    assert path.read_text() == "from above"


@pytest.mark.parametrize("path", ["../outside.txt", "/usr/outside.txt", "../data/meka.db"])
def test_scratchpad_save_file_stays_in_the_roots(context: ToolContext, path: str) -> None:
    with pytest.raises(ToolError):
        run(context, "save_file", name="notes", path=path)
    assert not (context.working_directory / path).exists()

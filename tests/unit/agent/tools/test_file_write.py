import os
import stat
from pathlib import Path

import gevent
import pytest
from gevent.event import Event

from meka.agent.tools.base import Change, FileState, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.file_read import FileRead
from meka.agent.tools.file_write import FileEdit, FileWrite, PathLocks
from meka.agent.tools.textfiles import write_text
from meka.base.levels import Level
from tests.fakes import make_context, run_inline


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path)


def write(context: ToolContext, path: str, content: str, **arguments: object) -> ToolOutcome:
    return FileWrite(PathLocks()).run({"path": path, "content": content, **arguments}, context)


def edit(context: ToolContext, path: str, old: str, **arguments: object) -> ToolOutcome:
    return FileEdit(PathLocks()).run({"path": path, "old_string": old, **arguments}, context)


def read_file(context: ToolContext, name: str, content: str | bytes) -> Path:
    """A file that the session has read."""
    path = context.working_directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    FileRead().run({"path": name}, context)
    return path


def touch(path: Path, content: str) -> None:
    path.write_text(content)
    os.utime(path, ns=(1, 1))


def test_file_write_creates_a_file_with_its_directories(context: ToolContext) -> None:
    outcome = write(context, "a/b/c.txt", "h\u00e9\r\n")
    path = context.working_directory / "a/b/c.txt"
    assert path.read_bytes() == b"h\xc3\xa9\r\n"
    assert outcome.text == "Wrote 5 bytes to a/b/c.txt"
    assert outcome.change == Change(str(path), None, "h\u00e9\r\n")
    assert context.reads.seen[path].size == 5
    assert edit(context, "a/b/c.txt", "h", new_string="H").change is not None


def test_file_write_overwrites_what_was_never_read_and_keeps_its_mode(context: ToolContext) -> None:
    path = context.working_directory / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    outcome = write(context, "run.sh", "new")
    assert outcome.change == Change(str(path), "old", "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert os.listdir(context.working_directory) == ["run.sh"]


def test_file_write_refuses_what_changed_since_it_was_read_unless_forced(context: ToolContext) -> None:
    path = read_file(context, "a.txt", "one")
    touch(path, "two")
    with pytest.raises(ToolError, match=r"a.txt has changed on disk.*force"):
        write(context, "a.txt", "three")
    assert path.read_text() == "two"
    assert write(context, "a.txt", "three", force=True).change == Change(str(path), "two", "three")
    write(context, "a.txt", "four")


def test_file_write_refuses_what_is_no_text_unless_forced(context: ToolContext) -> None:
    path = context.working_directory / "a.bin"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ToolError, match=r"a.bin exists and cannot be read.*force"):
        write(context, "a.bin", "text")
    assert write(context, "a.bin", "text", force=True).change is None
    assert path.read_text() == "text"


def test_file_write_writes_through_a_link_inside_the_roots(context: ToolContext) -> None:
    (context.working_directory / "real").write_text("")
    (context.working_directory / "link").symlink_to("real")
    write(context, "link", "text")
    assert (context.working_directory / "real").read_text() == "text"
    assert (context.working_directory / "link").is_symlink()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("../outside.txt", "outside.txt is outside the writable roots: {work}"),
        ("/etc/meka-test", "/etc/meka-test is outside the writable roots: {work}"),
        ("leak", "leak is outside the writable roots"),
        ("leakdir/x", "leakdir/x is outside the writable roots"),
        ("../config/config.toml", "may not be written at this permission level"),
        ("../config/skills/x", "may not be written at this permission level"),
        ("../work-twin/x", "outside the writable roots"),
        ("dir", "dir: is a directory"),
        ("file/x", "file/x: leads through something that is not a directory"),
        ("fifo", "fifo is a pipe"),
    ],
)
def test_file_write_refuses(context: ToolContext, tmp_path: Path, path: str, sentence: str) -> None:
    work = context.working_directory
    (work / "dir").mkdir()
    (work / "file").write_text("")
    os.mkfifo(work / "fifo")
    (tmp_path / "work-twin").mkdir()
    (work / "leak").symlink_to("../outside.txt")
    (work / "leakdir").symlink_to("..")
    with pytest.raises(ToolError) as caught:
        write(context, path, "text", force=True)
    assert sentence.format(work=work) in str(caught.value)
    assert not (tmp_path / "outside.txt").exists()


def test_file_write_keeps_private_directories_closed_inside_a_root(tmp_path: Path) -> None:
    context = make_context(tmp_path, roots=[tmp_path.resolve()])
    with pytest.raises(ToolError, match="may not be written"):
        write(context, "../data/x", "text")
    write(context, "../elsewhere", "text")


def test_file_write_writes_anywhere_when_unrestricted(tmp_path: Path) -> None:
    context = make_context(tmp_path, level=Level.UNRESTRICTED)
    write(context, "../outside.txt", "text")
    write(context, "../config/config.toml", "text")
    assert (tmp_path / "outside.txt").read_text() == "text"


def test_file_write_stays_in_the_roots_when_it_was_approved_at_read(tmp_path: Path) -> None:
    context = make_context(tmp_path, level=Level.READ)
    write(context, "a.txt", "text")
    with pytest.raises(ToolError, match="outside the writable roots"):
        write(context, "../a.txt", "text")


def test_file_write_stores_what_utf_8_cannot_as_a_replacement(context: ToolContext) -> None:
    write(context, "a.txt", "a\ud800\0b")
    assert (context.working_directory / "a.txt").read_text() == "a\ufffd\ufffdb"


@pytest.mark.parametrize(
    ("arguments", "line", "after"),
    [
        ({"old": "two", "new_string": "2"}, "Replaced 1 occurrence in a.txt", "one\n2\nthree\n"),
        ({"old": "two\n", "new_string": ""}, "Replaced 1 occurrence in a.txt", "one\nthree\n"),
        ({"old": "two", "insert_before": "x"}, "Inserted before 1 occurrence in a.txt", "one\nxtwo\nthree\n"),
        ({"old": "two", "insert_after": "x"}, "Inserted after 1 occurrence in a.txt", "one\ntwox\nthree\n"),
        (
            {"old": "o", "new_string": "0", "replace_all": True},
            "Replaced 2 occurrences in a.txt",
            "0ne\ntw0\nthree\n",
        ),
    ],
)
def test_file_edit_changes_the_text(
    context: ToolContext, arguments: dict[str, object], line: str, after: str
) -> None:
    path = read_file(context, "a.txt", "one\ntwo\nthree\n")
    outcome = edit(context, "a.txt", **arguments)
    assert path.read_text() == after
    assert outcome.text.split("\n")[0] == line
    assert outcome.change == Change(str(path), "one\ntwo\nthree\n", after)


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("a a", {"old": "a", "new_string": "b"}, r"occurs 2 times.*context.*replace_all"),
        ("a", {"old": "b", "new_string": "c"}, r"was not found in a.txt$"),
        ("a\r\nb\r\n", {"old": "a\nb", "new_string": "c"}, r"not found.*line endings.*CRLF"),
        ("a\nb\n", {"old": "a\r\nb", "new_string": "c"}, r"not found.*line endings.*LF"),
        ("a", {"old": "a"}, "exactly one of new_string, insert_before and insert_after"),
        ("a", {"old": "a", "new_string": "", "insert_after": ""}, "exactly one of"),
        ("a", {"old": "", "new_string": "b"}, "old_string is empty"),
    ],
)
def test_file_edit_refuses(
    context: ToolContext, content: str, arguments: dict[str, object], sentence: str
) -> None:
    path = read_file(context, "a.txt", content)
    with pytest.raises(ToolError, match=sentence):
        edit(context, "a.txt", **arguments)
    assert path.read_bytes() == content.encode()


def test_file_edit_asks_for_a_read_first_unless_forced(context: ToolContext) -> None:
    path = context.working_directory / "a.txt"
    path.write_text("a")
    with pytest.raises(ToolError, match=r"a.txt was not read in this session; read it first"):
        edit(context, "a.txt", "a", new_string="b")
    edit(context, "a.txt", "a", new_string="b", force=True)
    edit(context, "a.txt", "b", new_string="c")
    assert path.read_text() == "c"


@pytest.mark.parametrize("changed", ["longer than it was", "b"])
def test_file_edit_refuses_what_changed_since_it_was_read(context: ToolContext, changed: str) -> None:
    path = read_file(context, "a.txt", "a")
    touch(path, changed)
    with pytest.raises(ToolError, match=r"has changed on disk.*read it again.*force"):
        edit(context, "a.txt", "b", new_string="c")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("absent", "absent: no such file"),
        (".", "is a directory"),
        ("bin", "bin is not UTF-8"),
        ("../x", "outside the writable roots"),
    ],
)
def test_file_edit_names_a_path_it_cannot_edit(context: ToolContext, path: str, sentence: str) -> None:
    (context.working_directory / "bin").write_bytes(b"\xff")
    with pytest.raises(ToolError, match=sentence):
        edit(context, path, "a", new_string="b", force=True)


def test_file_edit_keeps_line_endings(context: ToolContext) -> None:
    path = read_file(context, "a.txt", b"a\r\nb\r\n")
    edit(context, "a.txt", "b", new_string="c")
    assert path.read_bytes() == b"a\r\nc\r\n"


def test_file_edit_shows_three_lines_around_the_first_change(context: ToolContext) -> None:
    read_file(context, "a.txt", "".join(f"line {number}\n" for number in range(1, 20)) + "y" * 300 + "\n")
    snippet = edit(context, "a.txt", "line 10\n", new_string="x\nline 10\n").text.split("\n\n")[1]
    assert snippet.split("\n") == [
        f"{number:5d} | {text}"
        for number, text in enumerate(
            ["line 7", "line 8", "line 9", "x", "line 10", "line 11", "line 12", "line 13"], 7
        )
    ]
    cut = edit(context, "a.txt", "line 19", new_string="z").text.split("\n")
    assert cut[-1] == "   21 | " + "y" * 200


@pytest.mark.parametrize(
    ("content", "old", "new", "snippet"),
    [
        ("a\nb\nc\n", "b\n", "", ["    1 | a", "    2 | c"]),
        ("only", "only", "", []),
        ("a\nb", "b", "x\ny", ["    1 | a", "    2 | x", "    3 | y"]),
        ("a\r\nb\r\n", "a", "x", ["    1 | x", "    2 | b"]),
        ("a\n", "a", "x\n" * 60, [*(f"{number:5d} | x" for number in range(1, 41)), "  ..."]),
    ],
)
def test_file_edit_shows_a_snippet(
    context: ToolContext, content: str, old: str, new: str, snippet: list[str]
) -> None:
    read_file(context, "a.txt", content)
    text = edit(context, "a.txt", old, new_string=new).text
    assert text.split("\n\n", 1)[1].split("\n") == (snippet or [""])


def test_file_edit_serializes_the_edits_of_one_path(tmp_path: Path) -> None:
    """The first edit stops after its read; the second must not read before the first has written."""
    first_inside, release = Event(), Event()
    order: list[str] = []

    def run_blocking(function, *args):
        if function.__name__ == "_edit":
            order.append("enter")
            if not first_inside.is_set():
                first_inside.set()
                assert release.wait(10)
            result = run_inline(function, *args)
            order.append("leave")
            return result
        return run_inline(function, *args)

    context = make_context(tmp_path, run_blocking=run_blocking)
    path = read_file(context, "a.txt", "1 2")
    tool = FileEdit(PathLocks())
    calls = [
        gevent.spawn(tool.run, {"path": "a.txt", "old_string": old, "new_string": new}, context)
        for old, new in (("1", "one"), ("2", "two"))
    ]
    assert first_inside.wait(10)
    gevent.idle()
    assert order == ["enter"]
    release.set()
    gevent.joinall(calls, timeout=10, raise_error=True)
    assert order == ["enter", "leave", "enter", "leave"]
    assert path.read_text() == "one two"


def test_file_write_notices_a_change_during_the_call(context: ToolContext) -> None:
    path = context.working_directory / "a.txt"
    path.write_text("somebody else's")
    for expected in (None, FileState(1, 1)):
        with pytest.raises(ToolError, match="changed by something else"):
            write_text(path, "ours", expected)
    assert path.read_text() == "somebody else's"
    assert os.listdir(context.working_directory) == ["a.txt"]


def test_file_write_never_follows_a_root_that_was_replaced_by_a_link(
    context: ToolContext, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    context.working_directory.rename(tmp_path / "moved")
    context.working_directory.symlink_to(outside)
    for path in ("new", str(outside / "new"), str(context.working_directory / "new")):
        with pytest.raises(ToolError, match="was replaced by a link"):
            write(context, path, "x")
    assert list(outside.iterdir()) == []

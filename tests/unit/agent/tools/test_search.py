import os
import subprocess
from pathlib import Path

import gevent
import psutil
import pytest

from meka.agent.cancel import CanceledError
from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.file_read import FileRead
from meka.agent.tools.search import FileFind, FileSearch
from meka.base.levels import Level
from tests.fakes import make_context


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path, level=Level.READ)


def put(base: Path, *names: str, content: str | bytes = "text\n") -> None:
    for name in names:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def find(context: ToolContext, glob: str, **arguments: object) -> list[str]:
    """The rows, with the working directory left out."""
    text = FileFind().run({"glob": glob, **arguments}, context).text
    return text.replace(f"{context.working_directory}/", "").split("\n")


def search(context: ToolContext, pattern: str, **arguments: object) -> list[str]:
    """The rows, with the working directory left out."""
    text = FileSearch().run({"pattern": pattern, **arguments}, context).text
    return text.replace(f"{context.working_directory}/", "").split("\n")


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["a.py"]),
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/**", ["src/b.py", "src/c.txt", "src/deep/c.py"]),
        ("src/*", ["src/b.py", "src/c.txt"]),
        ("./src//b.py", ["src/b.py"]),
        ("s?c/*.{py,txt}", ["src/b.py", "src/c.txt"]),
        ("**/[bc].py", ["src/b.py", "src/deep/c.py"]),
        ("**/[!b].py", ["a.py", "src/deep/c.py"]),
        ("**/deep/*", ["src/deep/c.py"]),
        ("src/**/c.py", ["src/deep/c.py"]),
        ("**/.hidden/*", [".hidden/d"]),
        ("a+py", ["(no files match)"]),
        ("absent/*.py", ["(no files match)"]),
        ("link/*", ["(no files match)"]),
        ("filelink", ["filelink"]),
    ],
)
def test_file_find_lists(context: ToolContext, glob: str, found: list[str]) -> None:
    work = context.working_directory
    put(work, "a.py", "src/b.py", "src/c.txt", "src/deep/c.py", ".hidden/d")
    put(work.parent, "other/x")
    (work / "link").symlink_to("../other")
    (work / "filelink").symlink_to("../other/x")
    assert find(context, glob) == ([str(work.parent / "other/x")] if glob == "link/*" else found)


def test_file_find_looks_below_path_and_in_every_root(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    put(base, "work/a.py", "work/sub/b.py", "more/c.py", "third/d.py")
    context = make_context(tmp_path, roots=[base / "work", base / "more"])
    assert find(context, "**/*.py") == ["a.py", "sub/b.py", f"{base}/more/c.py"]
    assert find(context, "*.py", path="sub") == ["sub/b.py"]
    assert find(context, "*.py", path="../third") == [f"{base}/third/d.py"]
    assert find(context, f"{base}/third/*.py") == [f"{base}/third/d.py"]


def test_searches_list_once_what_two_roots_hold(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    put(base, "work/a.py", "work/sub/b.py")
    context = make_context(tmp_path, roots=[base / "work" / "sub", base / "work"])
    assert sorted(find(context, "**/*.py")) == ["a.py", "sub/b.py"]
    assert sorted(find(context, "*.py")) == ["a.py", "sub/b.py"]
    assert search(context, "text") == ["a.py:1:text", "sub/b.py:1:text"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"glob": "["}, r"bad glob: \[ without \]"),
        ({"glob": "[z-a]"}, "invalid character class range"),
        ({"glob": "{a"}, "bad glob: { without }"),
        ({"glob": "a}"}, "bad glob: } without {"),
        ({"glob": "a**b"}, r"bad glob: \*\*"),
        ({"glob": ""}, "the glob is empty"),
        ({"glob": "../*"}, "holds '..'"),
        ({"glob": "*", "path": "absent"}, "absent: no such directory"),
        ({"glob": "*", "path": "../data"}, "may not be read"),
        ({"glob": "*", "path": "/proc/self"}, "may not be read"),
        ({"glob": "/proc/self/*"}, "may not be read"),
    ],
)
def test_file_find_refuses(context: ToolContext, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        FileFind().run(arguments, context)


def test_file_find_stops_at_the_limit_and_counts_on(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    put(context.working_directory, *(f"f{number:03d}" for number in range(600)))
    assert find(context, "*", limit=2) == ["f000", "f001", "... (shown 2 of 600)"]
    rows = find(context, "*")
    assert (len(rows), rows[-1]) == (501, "... (shown 500 of 600)")
    whole = make_context(tmp_path, unlimited=True)
    assert len(find(whole, "*")) == 600
    assert len(find(whole, "*", limit=3)) == 4


def test_searches_leave_private_directories_out(tmp_path: Path) -> None:
    put(tmp_path, "config/config.toml", "config/skills/s/SKILL.md", "data/meka.db", "work/a")
    levels = [Level.READ]
    context = make_context(tmp_path, level=lambda: levels[0])
    work = context.working_directory
    (work / "leak").symlink_to("../config/config.toml")
    (work / "environ").symlink_to("/proc/self/environ")
    assert find(context, "**", path="..") == ["a"]
    assert search(context, "text", path="..") == ["a:1:text"]
    skills = tmp_path.resolve() / "config/skills"
    assert search(context, "text", path="../config/skills") == [f"{skills}/s/SKILL.md:1:text"]
    with pytest.raises(ToolError, match="may not be read"):
        search(context, "text", path="../config/config.toml")
    levels[0] = Level.UNRESTRICTED
    assert search(context, "text", path="..") == ["a:1:text", "leak:1:text"]
    assert len(search(context, "text", path="../config")) == 2


def test_file_search_enters_no_process_below_unrestricted(context: ToolContext) -> None:
    assert find(context, "*/environ", path="/proc") == ["(no files match)"]


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({"pattern": "needle"}, ["a.py:2:a needle", "src/b.txt:1:needle"]),
        ({"pattern": "^needle"}, ["src/b.txt:1:needle"]),
        ({"pattern": "needle$", "glob": "*.py"}, ["a.py:2:a needle"]),
        ({"pattern": "needle", "glob": "src"}, ["(no lines match)"]),
        ({"pattern": "needle", "path": "src"}, ["src/b.txt:1:needle"]),
        ({"pattern": "needle", "path": "a.py"}, ["a.py:2:a needle"]),
        ({"pattern": "needle", "path": ".hidden"}, [".hidden/e:1:needle"]),
        ({"pattern": "needle", "path": "node_modules/d"}, ["node_modules/d:1:needle"]),
        ({"pattern": "absent"}, ["(no lines match)"]),
        ({"pattern": "needle", "limit": 1}, ["a.py:2:a needle", "... (shown 1 of 2)"]),
    ],
)
def test_file_search_lists(context: ToolContext, arguments: dict[str, object], rows: list[str]) -> None:
    work = context.working_directory
    put(work, "a.py", content="first\na needle\r\n")
    put(work, "src/b.txt", ".hidden/e", "node_modules/d", "target/f", ".dot", content="needle")
    put(work, "binary", content=b"needle\n\0")
    put(work.parent, "other/x", content="needle")
    (work / "link").symlink_to("../other")
    os.mkfifo(work / "fifo")
    assert search(context, **arguments) == rows


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"pattern": "("}, r"invalid pattern: missing \)"),
        ({"pattern": "a", "path": "absent"}, "absent: no such file or directory"),
        ({"pattern": "a", "path": "fifo"}, "fifo: not a regular file or a directory"),
        ({"pattern": "a", "glob": "a/*"}, "file name only"),
        ({"pattern": "a", "glob": "["}, "bad glob"),
    ],
)
def test_file_search_refuses(context: ToolContext, arguments: dict[str, object], sentence: str) -> None:
    os.mkfifo(context.working_directory / "fifo")
    with pytest.raises(ToolError, match=sentence):
        FileSearch().run(arguments, context)


def test_file_search_cuts_long_rows_and_replaces_what_is_no_utf_8(context: ToolContext) -> None:
    put(context.working_directory, "a", content="x" * 5000)
    put(context.working_directory, "b", content=b"caf\xe9 x\n")
    put(context.working_directory, "c\nd", content="x")
    long, latin, newline = search(context, "x")
    assert long == "a:1:" + "x" * 2000 + "..."
    assert latin == "b:1:caf\ufffd x"
    assert newline == "c d:1:x"


def test_file_search_counts_what_it_cannot_read(context: ToolContext) -> None:
    """Directories deeper than the walk goes stand for one that may not be opened: root opens all."""
    put(context.working_directory, "a")
    descriptor = os.open(context.working_directory, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    try:
        assert search(context, "text") == ["a:1:text", "... (1 unreadable)"]
        assert find(context, "**") == ["a", "... (1 unreadable)"]
    finally:
        subprocess.run(["rm", "-rf", context.working_directory / "d"], check=True)


def test_file_search_answers_a_catastrophic_pattern_at_once(context: ToolContext) -> None:
    put(context.working_directory, "a", content="a" * 40 + "b\n" + "a" * 2_000_000 + "b\n")
    assert search(context, "(a+)+$") == ["(no lines match)"]


def test_file_search_stops_at_its_budget_and_leaves_no_process(context: ToolContext) -> None:
    """A pattern too large for the engine's automaton over lines that make it work for minutes."""
    put(context.working_directory, "a", content="stop here\n")
    put(context.working_directory, "b", content=("x" * 200_000 + "\n") * 50)
    tool = FileSearch(budget_seconds=0.5)
    text = tool.run({"pattern": "stop here|(?i)x{1000}.{900}y"}, context).text
    assert text == f"{context.working_directory}/a:1:stop here\n... (stopped after 0.5 s)"
    assert not children()


def test_file_search_ends_its_process_on_a_cancel(context: ToolContext) -> None:
    put(context.working_directory, "b", content=("x" * 200_000 + "\n") * 50)
    call = gevent.spawn(FileSearch().run, {"pattern": "(?i)x{1000}.{900}y"}, context)
    while not children():
        gevent.sleep(0.01)
    context.cancel.request("client")
    with pytest.raises(CanceledError):
        call.get(timeout=10)
    assert not children()


def test_file_search_ends_its_process_when_its_greenlet_is_killed(context: ToolContext) -> None:
    put(context.working_directory, "b", content=("x" * 200_000 + "\n") * 50)
    call = gevent.spawn(FileSearch().run, {"pattern": "(?i)x{1000}.{900}y"}, context)
    while not children():
        gevent.sleep(0.01)
    call.kill(timeout=10)
    assert not children()


def children() -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "search_worker" in " ".join(child.cmdline())
    ]


@pytest.mark.parametrize("level", [Level.READ, Level.WORKSPACE])
def test_search_never_follows_a_working_directory_that_was_replaced_by_a_link(
    tmp_path: Path, level: Level
) -> None:
    context = make_context(tmp_path, level=level)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("word")
    context.working_directory.rename(tmp_path / "moved")
    context.working_directory.symlink_to(tmp_path / "outside")
    with pytest.raises(ToolError, match="was replaced by a link"):
        FileFind().run({"glob": "*"}, context)
    with pytest.raises(ToolError, match="was replaced by a link"):
        FileSearch().run({"pattern": "word"}, context)
    with pytest.raises(ToolError, match="was replaced by a link"):
        FileRead().run({"path": "file"}, context)

import os
import socket
import threading
from pathlib import Path

import pytest
from PIL import Image

from meka.agent.tools.base import ToolContext, ToolError
from meka.agent.tools.file_read import FileRead
from meka.base.levels import Level
from tests.fakes import make_context


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return make_context(tmp_path, level=Level.READ)


def read(context: ToolContext, path: str, **arguments: object) -> str:
    return FileRead().run({"path": path, **arguments}, context).text


def put(context: ToolContext, name: str, content: str | bytes) -> Path:
    path = context.working_directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


NUMBERED = "".join(f"line {number}\n" for number in range(1, 2501))
SHORT = "one\ntwo\r\nthree\n"


@pytest.mark.parametrize(
    ("content", "arguments", "expected"),
    [
        (SHORT, {}, SHORT),
        ("no ending", {}, "no ending"),
        ("", {}, ""),
        (SHORT, {"start": 1, "end": 3}, "one\ntwo\nthree"),
        (SHORT, {"start": 1, "end": 99}, "one\ntwo\nthree"),
        (SHORT, {"start": 2}, "two\nthree\n\n(lines 2-3 of 3)"),
        (SHORT, {"start": 2, "end": 2}, "two\n\n(lines 2-2 of 3)"),
        (SHORT, {"end": 1}, "one\n\n(lines 1-1 of 3)"),
        (SHORT, {"start": 4}, "(no lines: the file has 3 lines, start was 4)"),
        (SHORT, {"regex": "^t"}, "2:two\n3:three"),
        (SHORT, {"regex": "o$"}, "2:two"),
        (SHORT, {"regex": "four"}, "(no matches)"),
        (SHORT, {"regex": "e", "start": 2}, "3:three"),
        (SHORT, {"regex": r"one\ntwo"}, "(no matches)"),
        ("x\n" * 101, {"regex": "x", "end": 50}, "\n".join(f"{n}:x" for n in range(1, 51))),
    ],
)
def test_file_read_returns(
    context: ToolContext, content: str, arguments: dict[str, object], expected: str
) -> None:
    put(context, "a.txt", content)
    assert read(context, "a.txt", **arguments) == expected


def test_file_read_shows_the_first_2000_lines_when_there_are_more(context: ToolContext) -> None:
    put(context, "a.txt", NUMBERED)
    text = read(context, "a.txt")
    assert text.startswith("line 1\nline 2\n")
    assert text.endswith("line 2000\n\n(lines 1-2000 of 2500)")
    assert read(context, "a.txt", start=400).endswith("line 2399\n\n(lines 400-2399 of 2500)")


def test_file_read_caps_matching_lines_at_100(context: ToolContext) -> None:
    put(context, "a.txt", NUMBERED)
    rows = read(context, "a.txt", regex="line").split("\n")
    assert rows[99] == "100:line 100"
    assert rows[100:] == ["... (showing first 100 of 2500 matches)"]


@pytest.mark.parametrize(
    ("path", "arguments", "sentence"),
    [
        ("absent.txt", {}, "absent.txt: no such file or directory"),
        (".", {}, ".: is a directory"),
        ("latin.txt", {}, "latin.txt is not UTF-8"),
        ("latin.txt", {"start": 1}, "latin.txt is not UTF-8"),
        ("fifo", {}, "fifo is a pipe, a device or a socket"),
        ("socket", {}, "socket is a pipe, a device or a socket"),
        ("/dev/zero", {}, "/dev/zero is a pipe, a device or a socket"),
        ("loop", {}, "loop: is a symbolic link"),
        ("dangling", {}, "dangling: no such file"),
        ("latin.txt/x", {}, "latin.txt/x: leads through something that is not a directory"),
        ("", {}, "the path is empty"),
        ("a\0b", {}, "holds a NUL"),
        ("\ud800", {}, "not a usable path"),
        ("x" * 300, {}, "File name too long"),
        ("latin.txt", {"regex": "("}, "invalid pattern: missing ): ("),
        ("latin.txt", {"regex": "(?=x)"}, "invalid pattern: invalid perl operator: (?="),
        ("latin.txt", {"start": 3, "end": 2}, "end (2) lies before start (3)"),
    ],
)
def test_file_read_refuses(
    context: ToolContext, path: str, arguments: dict[str, object], sentence: str
) -> None:
    work = context.working_directory
    put(context, "latin.txt", b"caf\xe9\n")
    os.mkfifo(work / "fifo")
    (work / "loop").symlink_to("loop")
    (work / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(work / "socket"))
        with pytest.raises(ToolError) as caught:
            read(context, path, **arguments)
    assert sentence in str(caught.value)
    assert not context.reads.seen


def test_file_read_streams_windows_of_a_file_above_16_mib(context: ToolContext) -> None:
    row = "0123456789abcdef" * 64
    path = put(context, "big.txt", "".join(f"{number} {row}\r\n" for number in range(1, 20001)))
    with pytest.raises(ToolError, match=r"big.txt holds 20,\d\d\d,\d\d\d bytes.*start and end"):
        read(context, "big.txt")
    assert read(context, "big.txt", start=19999, end=20000) == (
        f"19999 {row}\n20000 {row}\n\n(lines 19999-20000 of 20000)"
    )
    middle = read(context, "big.txt", start=5000, end=7100).split("\n")
    assert [line.split(" ")[0] for line in middle[:-2]] == [str(number) for number in range(5000, 7101)]
    assert read(context, "big.txt", start=7, end=9, regex="^8 ") == f"8:8 {row}"
    assert read(context, "big.txt", start=30000) == "(no lines: the file has 20000 lines, start was 30000)"
    with pytest.raises(ToolError, match="ask for fewer lines"):
        read(context, "big.txt", start=1, end=20000)
    assert path not in context.reads.seen


def test_file_read_stops_streaming_on_a_cancel(context: ToolContext) -> None:
    put(context, "big.txt", b"x\n" * (9 * 1024 * 1024))
    context.cancel.request("client")
    with pytest.raises(ToolError, match="stopped"):
        read(context, "big.txt", start=1)


def test_file_read_records_the_canonical_path_with_its_state(context: ToolContext) -> None:
    path = put(context, "real.txt", "text")
    (context.working_directory / "link").symlink_to("real.txt")
    read(context, "link", start=1, end=1)
    status = path.stat()
    assert [(str(key), state.mtime_ns, state.size) for key, state in context.reads.seen.items()] == [
        (str(path), status.st_mtime_ns, 4)
    ]


@pytest.mark.parametrize("reach", ["../config/config.toml", "link", "up/config.toml", "../data/x"])
def test_file_read_keeps_private_directories_closed_below_unrestricted(tmp_path: Path, reach: str) -> None:
    levels = [Level.READ]
    context = make_context(tmp_path, level=lambda: levels[0])
    (tmp_path / "config" / "config.toml").write_text("secret")
    (tmp_path / "data" / "x").write_text("secret")
    (context.working_directory / "link").symlink_to("../config/config.toml")
    (context.working_directory / "up").symlink_to("../config")
    for level in (Level.READ, Level.WORKSPACE):
        levels[0] = level
        with pytest.raises(ToolError, match="may not be read at this permission level"):
            read(context, reach)
    levels[0] = Level.UNRESTRICTED
    assert read(context, reach) == "secret"


def test_file_read_opens_the_skills_inside_the_private_directories(context: ToolContext) -> None:
    put(context, "../config/skills/a/SKILL.md", "skill")
    assert read(context, "../config/skills/a/SKILL.md") == "skill"


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/thread-self/environ",
        "/proc/self/root/etc/passwd",
        "link",
    ],
)
def test_file_read_keeps_processes_closed_below_unrestricted(context: ToolContext, path: str) -> None:
    (context.working_directory / "link").symlink_to("/proc/self/environ")
    with pytest.raises(ToolError, match="may not be read"):
        read(context, path)


def test_file_read_reads_anywhere_else(context: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("outside the roots")
    assert read(context, "../elsewhere.txt") == "outside the roots"
    assert "MemTotal" in read(context, "/proc/meminfo")


def test_file_read_never_follows_a_link_swapped_in_after_the_check(tmp_path: Path) -> None:
    """A thread keeps swapping a file and a directory for links to what is private."""
    context = make_context(tmp_path, level=Level.READ)
    work = context.working_directory
    (tmp_path / "config" / "f").write_text("secret")
    put(context, "target", "public")
    put(context, "way/f", "public")
    (work / "waylink").symlink_to("../config")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            (work / "new").symlink_to("../config/f")
            os.rename(work / "new", work / "target")
            os.rename(work / "way", work / "waydir")
            os.rename(work / "waylink", work / "way")
            (work / "new").write_text("public")
            os.rename(work / "new", work / "target")
            os.rename(work / "way", work / "waylink")
            os.rename(work / "waydir", work / "way")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        outcomes = set()
        for _ in range(400):
            for path in ("target", "way/f"):
                try:
                    outcomes.add(read(context, path))
                except ToolError:
                    outcomes.add("refused")
    finally:
        over.set()
        swapper.join()
    assert "secret" not in outcomes
    assert "public" in outcomes


@pytest.mark.parametrize("name", ["i.png", "i.jpg", "i.gif", "i.webp", "i.bmp", "i.tga", "i.PNG"])
def test_file_read_shows_an_image(context: ToolContext, name: str) -> None:
    path = context.working_directory / name
    Image.new("RGB", (8, 6), (250, 10, 10)).save(path)
    outcome = FileRead().run({"path": name}, context)
    assert outcome.text == f"[Image: {name}]"
    (image,) = outcome.images
    passes = path.suffix in (".png", ".jpg", ".gif", ".webp", ".PNG")
    assert (image.data == path.read_bytes()) is passes
    assert path in context.reads.seen


def test_file_read_tells_a_broken_image(context: ToolContext) -> None:
    put(context, "broken.png", b"\x89PNG\r\n\x1a\n" + bytes(40))
    with pytest.raises(ToolError, match=r"broken.png: the image is broken"):
        read(context, "broken.png")


@pytest.mark.parametrize("name", ["a.svg", "a.png"])
def test_file_read_takes_text_under_an_image_name_for_text(context: ToolContext, name: str) -> None:
    put(context, name, "<svg/>")
    assert read(context, name) == "<svg/>"


def test_file_read_answers_a_catastrophic_pattern_at_once(context: ToolContext) -> None:
    put(context, "a.txt", "a" * 40 + "b\n" + "a" * 1_000_000 + "b\n")
    assert read(context, "a.txt", regex="(a+)+$") == "(no matches)"

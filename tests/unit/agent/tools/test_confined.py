import errno
import os
from pathlib import Path

import pytest

from meka.agent.tools.confined import NotRegularError, ReadRule, open_parent, open_regular


def test_open_regular_refuses_a_link_that_took_the_file_s_place(tmp_path: Path) -> None:
    secret, path = tmp_path / "secret", tmp_path / "file"
    secret.write_text("secret")
    path.symlink_to(secret)
    with pytest.raises(OSError) as caught:
        open_regular(str(path))
    assert caught.value.errno == errno.ELOOP


def test_open_regular_refuses_a_link_that_took_a_directory_s_place(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("")
    (tmp_path / "way").symlink_to("real")
    with pytest.raises(NotADirectoryError):
        open_regular(str(tmp_path / "way" / "file"))


def test_open_regular_refuses_a_pipe_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NotRegularError):
        open_regular(str(tmp_path / "fifo"))


def test_open_parent_makes_no_directory_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "way").symlink_to("elsewhere")
    with pytest.raises(NotADirectoryError), open_parent(str(tmp_path / "way/new/file"), create=True):
        pass
    assert not list((tmp_path / "elsewhere").iterdir())


def test_open_regular_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    before = os.listdir("/proc/self/fd")
    os.close(open_regular(str(tmp_path / "file")))
    for name in ("fifo", "absent", "absent/absent"):
        with pytest.raises(OSError):
            open_regular(str(tmp_path / name))
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    ("path", "confined"),
    [
        ("/etc/passwd", True),
        ("/meka", False),
        ("/meka/config", False),
        ("/meka/skills", True),
        ("/meka/skills/a/SKILL.md", True),
        ("/meka/skills-twin", False),
        ("/mekatwin", True),
        ("/proc", True),
        ("/proc/meminfo", True),
        ("/proc/17", False),
        ("/proc/17/environ", False),
        ("/proc/self/environ", False),
        ("/proc/thread-self", False),
        ("/home/proc/17", True),
        ("/", True),
    ],
)
def test_read_rule_admits_below_unrestricted(path: str, confined: bool) -> None:
    assert ReadRule(["/meka"], ["/meka/skills"], unrestricted=False).may_read(path) is confined
    assert ReadRule(["/meka"], ["/meka/skills"], unrestricted=True).may_read(path) is True

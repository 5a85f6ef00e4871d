"""The lock of the embedded model's packages."""

from pathlib import Path

from tools.local_lock import HEADER, hashes_in, read_pins, render_lock

ROOT = Path(__file__).parents[2]
REPORT = {
    "install": [
        {
            "metadata": {"name": "Small-Model", "version": "1.2"},
            "download_info": {"archive_info": {"hashes": {"sha256": "ab12"}}},
        }
    ]
}


def test_pins_are_read_without_comments():
    assert read_pins("# why\nfirst==1  # and why\n\nsecond==2\n") == ["first==1", "second==2"]


def test_hashes_are_taken_from_the_report_of_pip():
    assert list(hashes_in(REPORT)) == [("small-model==1.2", "ab12")]


def test_lock_lists_pins_and_hashes_in_one_order():
    lock = render_lock({"second==2": {"b"}, "first==1": {"d", "c"}})
    assert lock == HEADER + (
        "first==1 \\\n    --hash=sha256:c \\\n    --hash=sha256:d\nsecond==2 \\\n    --hash=sha256:b\n"
    )


def test_committed_lock_holds_the_pins_that_it_is_made_from():
    lock = (ROOT / "requirements-local.txt").read_text()
    locked = [line.removesuffix(" \\") for line in lock.splitlines() if "==" in line]
    assert sorted(locked) == sorted(read_pins((ROOT / "requirements-local.in").read_text()))
    assert "http" not in lock

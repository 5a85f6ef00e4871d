"""The file opened for an edit: locked, written whole, put back, never garbled."""

import multiprocessing
import os
import tomllib
from pathlib import Path

import pytest

from meka.base.errors import ConfigurationError
from meka.config import edit
from meka.config.draft import Draft, open_draft, write_text_durably

COMMENTED = '# mine\n[accounts.a] # first\nbackend = "local"\n\n# the server\n[serve]\nbind = "x:1" # here\n'


def _add_accounts(path: Path, prefix: str, count: int) -> None:
    for index in range(count):
        with open_draft(path) as draft:
            edit.add_account(draft, f"{prefix}{index}", "local", {})
            draft.save()


def test_two_processes_that_edit_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add_accounts, args=(path, prefix, 15)) for prefix in ("x", "y")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    text = path.read_text()
    expected = {"a"} | {f"{prefix}{index}" for prefix in ("x", "y") for index in range(15)}
    assert set(tomllib.loads(text)["accounts"]) == expected
    for line in COMMENTED.splitlines():
        assert line in text.splitlines()


def test_edit_that_fails_leaves_the_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)

    def refuse(_text: str) -> None:
        raise ConfigurationError("no")

    with open_draft(path) as draft:
        edit.add_account(draft, "b", "local", {})
        with pytest.raises(ConfigurationError, match="no"):
            draft.save(refuse)
    assert path.read_text() == COMMENTED
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".config.toml.lock", "config.toml"]


def test_check_is_given_the_text_that_would_be_written(tmp_path: Path) -> None:
    seen: list[str] = []
    with open_draft(tmp_path / "config.toml") as draft:
        edit.add_account(draft, "b", "local", {})
        draft.save(seen.append)
    assert seen == ['[accounts.b]\nbackend = "local"\n']


def test_undo_puts_the_text_back(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    with open_draft(path) as draft:
        edit.add_account(draft, "b", "local", {})
        draft.save()
        assert path.read_text() != COMMENTED
        draft.undo()
    assert path.read_text() == COMMENTED


def test_undo_of_a_first_edit_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with open_draft(path) as draft:
        edit.add_account(draft, "b", "local", {})
        draft.save()
        draft.undo()
    assert not path.exists()


def test_new_file_and_directory_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    _add_accounts(path, "a", 1)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    path.chmod(0o640)
    _add_accounts(path, "b", 1)
    assert path.stat().st_mode & 0o777 == 0o640


def test_symbolic_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    target.write_text(COMMENTED)
    link.symlink_to(target)
    _add_accounts(link, "b", 1)
    assert link.is_symlink()
    assert "[accounts.b0]" in target.read_text()


def test_unchanged_draft_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    before = path.stat()
    with open_draft(path) as draft:
        draft.save()
    assert path.stat() == before


def test_file_that_does_not_parse_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[serve]\ntoken = sk-secret\n")
    with pytest.raises(ConfigurationError) as caught, open_draft(path):
        pytest.fail("opened")
    assert "line 2" in caught.value.detail
    assert "secret" not in caught.value.detail


def test_garbled_edit_never_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    draft = Draft(path, COMMENTED)
    draft.set(("accounts", "a", "base_url"), "u")
    draft.text = draft.text.replace('"u"', '"other"')
    with pytest.raises(ConfigurationError, match="edit it by hand"):
        draft.save()
    assert path.read_text() == COMMENTED


def test_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigurationError, match="cannot be edited"),
        open_draft(tmp_path / "file" / "config.toml"),
    ):
        pytest.fail("opened")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_text_durably(tmp_path / "absent" / "config.toml", "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_saved_file_keeps_its_owner_group_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    write_text_durably(path, "")
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode & 0o777) == (1234, 2345, 0o640)

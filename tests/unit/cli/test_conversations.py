"""`meka session fork | rewind | export | import`: conversations cut back, copied, written, brought in."""

import json
import os
import stat
from pathlib import Path

import pytest

from meka.store import messages, sessions
from meka.store.connection import Tx
from meka.store.locks import SessionLocks
from tests.unit.cli.conftest import Shell

SESSION = "11111111-1111-4111-8111-111111111111"
CHILD = "33333333-3333-4333-8333-333333333333"
CONFIG = """
default_profile = "main"

[accounts.local]
backend = "local"

[profiles.main]
account = "local"
model = "smollm2-135m-instruct"
"""


def add(tx: Tx, session_id: str, parent: str | None, count: int) -> None:
    sessions.create(
        tx, session_id, working_directory="/w", permission="read", approvals=False, profile="main",
        parent_id=parent, title="A title",
    )  # fmt: skip
    for number in range(count):
        turn_id = f"{number:08d}-0000-4000-8000-000000000000"
        for role, word in (("user", "asked"), ("assistant", "said")):
            content = [{"type": "text", "text": f"{word} {number}"}]
            messages.append(tx, session_id, messages.message(role, content, turn_id=turn_id))


@pytest.fixture
def shell(meka: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    meka.write_config(CONFIG)
    with meka.store() as database:
        database.write(lambda tx: add(tx, SESSION, None, 3))
        database.write(lambda tx: add(tx, CHILD, SESSION, 2))
    monkeypatch.chdir(meka.directory)
    return meka


def texts(shell: Shell, session_id: str) -> list[str]:
    with shell.store() as database:
        log = database.read(lambda tx: messages.load(tx, session_id))
    return [row.content[0]["text"] for row in messages.view(log)]


def test_rewind_drops_the_last_turns_and_says_so(shell: Shell) -> None:
    outcome = shell("session", "rewind", "1111", "-n", "2")
    assert (outcome.code, outcome.err) == (0, "dropped 2 turns; 2 of 6 messages stay\n")
    assert texts(shell, SESSION) == ["asked 0", "said 0"]
    assert shell("session", "rewind", CHILD).err == "dropped 1 turn; 2 of 4 messages stay\n"


@pytest.mark.parametrize(("turns", "code"), [("4", 1), ("0", 2), ("-1", 2), ("x", 2)])
def test_rewind_of_what_is_not_there_drops_nothing(shell: Shell, turns: str, code: int) -> None:
    assert shell("session", "rewind", SESSION, "-n", turns).code == code
    assert len(texts(shell, SESSION)) == 6


def test_rewind_of_too_many_names_the_option(shell: Shell) -> None:
    outcome = shell("session", "rewind", SESSION, "-n", "4")
    assert outcome.err == (
        "error: -n: `turns` is invalid: 4 cannot be dropped, the conversation has 3 to rewind\n"
    )


def test_fork_prints_the_id_of_a_copy(shell: Shell) -> None:
    copy = shell.done("session", "fork", "1111").strip()
    assert texts(shell, copy) == texts(shell, SESSION)
    assert shell("session", "fork", CHILD).code == 1


@pytest.mark.parametrize("command", ["fork", "rewind"])
def test_session_that_is_open_elsewhere_is_left_alone(shell: Shell, command: str) -> None:
    lock = SessionLocks(shell.directory / "data" / "locks").try_acquire(SESSION)
    assert lock is not None
    outcome = shell("session", command, SESSION)
    assert outcome.code == 1
    assert "is open in another process" in outcome.err
    lock.release()


@pytest.mark.parametrize(("form", "suffix"), [("markdown", "md"), ("json", "json")])
def test_export_writes_a_private_file_by_default(shell: Shell, form: str, suffix: str) -> None:
    outcome = shell("session", "export", "1111", "--format", form)
    path = shell.directory / f"session-{SESSION}.{suffix}"
    assert (outcome.code, outcome.out, outcome.err) == (0, "", f"wrote session-{SESSION}.{suffix}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "asked 2" in path.read_text()
    assert shell.done("session", "export", "1111", "--format", form, "-o", "-") == path.read_text()
    assert [each.name for each in shell.directory.iterdir() if each.name.startswith(".")] == []


def test_export_leaves_a_pipe_and_a_link_what_they_are(shell: Shell) -> None:
    pipe, link, behind = (shell.directory / name for name in ("pipe", "link", "behind"))
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        shell.done("session", "export", "1111", "-o", str(pipe))
        assert b"asked 2" in os.read(reader, 65536)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    behind.touch()
    link.symlink_to(behind)
    shell.done("session", "export", "1111", "-o", str(link))
    assert link.is_symlink()
    assert "asked 2" in behind.read_text()


def test_export_that_cannot_be_written_is_told(shell: Shell) -> None:
    outcome = shell("session", "export", "1111", "-o", str(Path("/nowhere") / "x"))
    assert (outcome.code, outcome.err) == (
        1,
        "error: /nowhere/x cannot be written: No such file or directory\n",
    )
    assert shell("session", "export", "9999", "-o", "-").code == 1


def test_archive_comes_back_by_file_and_by_pipe(shell: Shell) -> None:
    text = shell.done("session", "export", SESSION, "--format", "json", "-o", "-")
    (shell.directory / "archive.json").write_text(text)
    by_file = shell("session", "import", "archive.json")
    assert by_file.err == "imported 2 sessions\n"
    by_pipe = shell.done("session", "import", "-", stdin=text).strip()
    for made in (by_file.out.strip(), by_pipe):
        assert texts(shell, made) == texts(shell, SESSION)
        assert json.loads(shell.done("session", "show", made, "--format", "json"))["title"] == "A title"


def test_import_takes_more_sessions_than_a_server_does(shell: Shell) -> None:
    document = json.loads(shell.done("session", "export", SESSION, "--format", "json", "-o", "-"))
    child = document["sessions"][1]
    for number in range(1100):
        document["sessions"].append(child | {"id": f"{number:08d}-3333-4333-8333-333333333333"})
    outcome = shell("session", "import", "-", stdin=json.dumps(document))
    assert (outcome.code, outcome.err) == (0, "imported 1102 sessions\n")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "meka-session-archive"}'])
def test_import_of_what_is_no_archive_leaves_nothing(shell: Shell, text: str) -> None:
    outcome = shell("session", "import", "-", stdin=text)
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    with shell.store() as database:
        assert database.read(sessions.all_ids) == {SESSION, CHILD}


def test_import_says_what_is_wrong(shell: Shell) -> None:
    outcome = shell("session", "import", "-", stdin='{"format": "x"}')
    assert outcome.err.startswith("error: - cannot be imported: `format_version` is missing")
    assert "cannot be read" in shell("session", "import", "/nowhere/x").err


def test_import_of_an_unknown_profile_is_refused(shell: Shell) -> None:
    document = json.loads(shell.done("session", "export", SESSION, "--format", "json", "-o", "-"))
    document["sessions"][0]["profile"] = "nobody"
    outcome = shell("session", "import", "-", stdin=json.dumps(document))
    assert outcome.err == "error: no profile named 'nobody' (configured: main)\n"

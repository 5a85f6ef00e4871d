"""The command line as a whole: what goes where, what is refused, what the exit codes say."""

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from meka.base.levels import Level
from meka.config.environment import Flags
from meka.config.model import SandboxBackend
from meka.config.options import OutputFormat
from meka.store import sessions
from tests.unit.cli.conftest import Shell

ROOT = Path(__file__).parents[3]


def test_serve_is_given_its_flags_from_either_side(meka: Shell) -> None:
    meka.program.code = 1
    assert meka("--profile", "p", "--no-stream", "serve", "--bind", "x:1", "--permission", "read").code == 1
    (options,) = meka.program.served
    assert options.bind == "x:1"
    assert options.flags == Flags(permission=Level.READ, profile="p", stream=False)
    meka("--profile", "p", "serve", "--profile", "q", "--sandbox-backend", "landlock", "--instructions", "i")
    assert meka.program.served[1].flags == Flags(sandbox_backend=SandboxBackend.LANDLOCK, profile="q")
    assert meka.program.served[1].instructions == "i"


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "-c"],
        ["-c", "serve"],
        ["serve", "-r", "x"],
        ["--resume", "x", "serve"],
        ["serve", "--continue"],
    ],
)
def test_serve_refuses_one_runs_session(meka: Shell, arguments: list[str]) -> None:
    outcome = meka(*arguments)
    assert outcome.code == 2
    assert "takes neither -c nor -r" in outcome.err
    assert meka.program.served == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--oneshot", "serve"], "--oneshot does not go with `meka serve`"),
        (["-p", "x", "serve"], "--prompt does not go with `meka serve`"),
        (["--writable-root", "/", "serve"], "--writable-root does not go with `meka serve`"),
        (["--format", "json", "account", "list"], "--format does not go with `meka account`"),
        (["--profile", "x", "session", "list"], "--profile does not go with `meka session`"),
        (["-c", "tool", "list"], "-c does not go with `meka tool list`"),
        (["-p", "x"], "--prompt goes with --oneshot only"),
        (["--format", "json"], "--format goes with --oneshot only"),
        (["--oneshot"], "--oneshot needs a prompt that is not blank"),
        (["--oneshot", "-p", " \n"], "--oneshot needs a prompt that is not blank"),
        (["--oneshot", "-p", "-"], "--oneshot needs a prompt that is not blank"),
        (["--oneshot", "-p", "x", "-c", "-r", "y"], "-c and -r both name a session"),
        (["--permission", "Read", "serve"], "'Read' is not one of"),
        (["serve", "--bind", "8085"], '--bind must be "host:port"'),
        (["serve", "--bind", ":8085"], '--bind must be "host:port"'),
        (["serve", "--bind", "127.0.0.1:99999"], '--bind must be "host:port"'),
        (["nosuch"], "No such command"),
        (["do something"], "No such command"),
    ],
)
def test_misuse_is_refused(meka: Shell, arguments: list[str], sentence: str) -> None:
    outcome = meka(*arguments)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert outcome.out == ""
    assert (meka.program.served, meka.program.asked) == ([], [])


def test_bare_command_shows_its_help(meka: Shell) -> None:
    outcome = meka()
    assert outcome.code == 2
    assert "Usage: meka" in outcome.err


@pytest.mark.parametrize(
    "command",
    [[], ["serve"], ["account"], ["account", "add"], ["account", "login"], ["account", "list"],
     ["account", "remove"], ["account", "rename"], ["profile"], ["profile", "add"], ["profile", "set"],
     ["profile", "use"], ["profile", "list"], ["profile", "remove"], ["profile", "rename"], ["session"],
     ["session", "list"], ["session", "show"], ["session", "delete"], ["tool"], ["tool", "list"]],
)  # fmt: skip
def test_every_command_has_help(meka: Shell, command: list[str]) -> None:
    for flag in ("--help", "-h"):
        assert " ".join(["Usage: meka", *command]) in meka.done(*command, flag)


def test_serve_help_says_that_it_refuses_one_runs_session(meka: Shell) -> None:
    shown = " ".join(meka.done("serve", "--help").split())
    assert "-c, --continue Refused:" in shown
    assert "-r, --resume ID Refused:" in shown
    assert "--skill NAME Not there yet: any name is refused." in " ".join(meka.done("--help").split())


def test_version_is_said(meka: Shell) -> None:
    assert meka.done("-V") == meka.done("--version") == "meka, version 0.1.0\n"


def test_oneshot_is_given_its_prompt(meka: Shell) -> None:
    meka.program.code = 130
    outcome = meka(
        "--oneshot", "-p", "hi", "--format", "json", "--profile", "p", "--writable-root", "/", "-vv"
    )
    assert outcome.code == 130
    (asked,) = meka.program.asked
    assert (asked.prompt, asked.format, asked.session_id) == ("hi", OutputFormat.JSON, None)
    assert (asked.flags.profile, asked.writable_roots) == ("p", (Path("/"),))
    assert meka.program.verbosity == [2]


def test_oneshot_reads_its_prompt_from_standard_input(meka: Shell) -> None:
    meka.done("--oneshot", "-p", "-", stdin="from\nafar\n")
    assert meka.program.asked[0].prompt == "from\nafar\n"


def test_oneshot_with_a_skill_names_what_is_missing(meka: Shell) -> None:
    assert meka("--oneshot", "--skill", "x").err == "error: no skill named 'x'\n"


def test_oneshot_goes_on_with_a_session(meka: Shell) -> None:
    assert "there is no session to go on with" in meka("--oneshot", "-p", "x", "-c").err
    with meka.store() as database:
        for session_id in ("aaaa", "bbbb"):
            database.write(
                lambda tx, session_id=session_id: sessions.create(  # type: ignore[misc]
                    tx, session_id, working_directory="/", permission="read", approvals=False, profile="p"
                )
            )
            meka.program.clock.advance(1)
    meka.done("--oneshot", "-p", "x", "-c")
    meka.done("--oneshot", "-p", "x", "-r", "aa")
    assert [asked.session_id for asked in meka.program.asked] == ["bbbb", "aaaa"]
    assert "session 'cc' not found" in meka("--oneshot", "-p", "x", "-r", "cc").err


def test_tools_are_listed(meka: Shell) -> None:
    tool = {"name": "file_read", "permission": "read", "source": "builtin", "status": "enabled"}
    meka.program.tools.append(tool)
    assert json.loads(meka.done("tool", "list", "--format", "json")) == {"tools": [tool]}
    assert meka.done("tool", "list").splitlines() == [
        "NAME       PERMISSION  SOURCE   STATUS",
        "file_read  read        builtin  enabled",
    ]


def test_directory_variable_that_is_relative_is_warned_of(meka: Shell) -> None:
    meka.extra = {"MEKA_CONFIG_DIR": "relative", "HOME": str(meka.directory)}
    outcome = meka("profile", "list")
    assert outcome.code == 0
    assert "warning: MEKA_CONFIG_DIR is not an absolute path and is ignored" in outcome.err


def places_of(directory: Path) -> dict[str, str]:
    return {
        "MEKA_CONFIG_DIR": str(directory / "c"),
        "MEKA_DATA_DIR": str(directory / "d"),
        "PYTHONPATH": str(ROOT),
    }


def run_meka(
    directory: Path, *arguments: str, stdin: str = "", **streams: object
) -> subprocess.CompletedProcess[str]:
    """`python -m meka` as a process of its own."""
    environ = {**os.environ, **places_of(directory)}
    chosen = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "meka", *arguments],
        input=stdin, text=True, env=environ, timeout=60, check=False, **chosen,
    )  # fmt: skip


def test_real_process_takes_a_key_from_standard_input(tmp_path: Path) -> None:
    arguments = ("account", "add", "w", "--backend", "openai-responses")
    done = run_meka(tmp_path, *arguments, "--api-key-stdin", stdin="sk-piped\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    listed = run_meka(tmp_path, "account", "list", "--format", "json")
    assert json.loads(listed.stdout)["accounts"][0]["authenticated"] == "yes"
    assert "sk-piped" not in (tmp_path / "c" / "config.toml").read_text() + listed.stdout


def test_real_process_asks_for_a_key_without_showing_it(tmp_path: Path) -> None:
    terminal, stdin = pty.openpty()
    environ = {**os.environ, **places_of(tmp_path)}
    arguments = [sys.executable, "-m", "meka", "account", "add", "w", "--backend", "openai-responses"]
    with subprocess.Popen(
        arguments, stdin=stdin, stderr=subprocess.PIPE, env=environ, start_new_session=True
    ) as process:
        assert process.stderr is not None
        asked = process.stderr.read(len("API key: "))
        os.write(terminal, b"sk-typed\n")
        rest = process.stderr.read()
        code = process.wait(60)
    shown = os.read(terminal, 1000) if select.select([terminal], [], [], 0)[0] else b""
    os.close(stdin)
    os.close(terminal)
    assert (code, asked) == (0, b"API key: ")
    assert b"typed" not in shown + rest
    listed = run_meka(tmp_path, "account", "list", "--format", "json")
    assert json.loads(listed.stdout)["accounts"][0]["authenticated"] == "yes"


def test_real_process_ends_well_when_its_reader_stopped(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stdout:
        done = run_meka(tmp_path, "--help", stdout=stdout)
    assert (done.returncode, done.stderr) == (0, "")


def test_real_process_fails_when_its_output_has_no_room(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as stdout:
        done = run_meka(tmp_path, "account", "list", "--format", "json", stdout=stdout)
    assert done.returncode == 1
    assert done.stderr == "error: No space left on device\n"

"""`meka profile`: the file, and the sessions that follow a rename."""

import json

import pytest

from meka.store import sessions
from tests.unit.cli.conftest import Shell

ACCOUNTS = '# ours\n[accounts.a]\nbackend = "anthropic-messages"\n\n[accounts.here]\nbackend = "local"\n'


@pytest.fixture
def shell(meka: Shell) -> Shell:
    meka.write_config(ACCOUNTS)
    return meka


def add(shell: Shell, name: str, *more: str) -> None:
    shell.done("profile", "add", name, "--account", "a", "--model", "m", *more)


def test_profile_is_added_with_what_was_given(shell: Shell) -> None:
    add(shell, "spare")
    add(
        shell, "p", "--context-window", "5", "--max-output-tokens", "6", "--effort", "high",
        "--vision", "false", "--thinking", "off", "--max-request-bytes", "7",
        "--deferred-tools", "native", "--fallback", "spare",
    )  # fmt: skip
    assert shell.config_text.startswith(ACCOUNTS)
    assert shell.config_text.endswith(
        '[profiles.p]\naccount = "a"\nmodel = "m"\ncontext_window = 5\nmax_output_tokens = 6\n'
        'effort = "high"\nvision = false\nthinking = "off"\nmax_request_bytes = 7\n'
        'deferred_tools = "native"\nfallbacks = ["spare"]\n'
    )


def test_second_profile_pins_no_default_at_a_shell(shell: Shell) -> None:
    add(shell, "p")
    add(shell, "q")
    assert "default_profile" not in shell.config_text


def test_profile_needs_account_and_model(shell: Shell) -> None:
    assert shell("profile", "add", "p", "--model", "m").code == 2
    assert shell("profile", "add", "p", "--account", "a").code == 2


def test_keys_are_set_and_unset(shell: Shell) -> None:
    add(shell, "p")
    before = shell.config_text
    for key, value in (
        ("model", "n"), ("context_window", "10"), ("vision", "true"), ("thinking", "off"), ("effort", "low"),
    ):  # fmt: skip
        shell.done("profile", "set", "p", key, value)
    assert (
        'model = "n"\ncontext_window = 10\neffort = "low"\nvision = true\nthinking = "off"\n'
        in shell.config_text
    )
    for key in ("context_window", "vision", "thinking", "effort"):
        shell.done("profile", "set", "p", key, "--unset")
    assert shell.config_text == before.replace('"m"', '"n"')


def test_fallbacks_are_set_as_a_list(shell: Shell) -> None:
    for name in ("p", "q", "r"):
        add(shell, name)
    shell.done("profile", "set", "p", "fallbacks", "q, r,")
    assert 'fallbacks = ["q", "r"]\n' in shell.config_text


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["p", "vision", "yes"], 1, "vision must be true or false"),
        (["p", "vision", "True"], 1, "vision must be true or false"),
        (["p", "context_window", "1e3"], 1, "context_window must be a whole number"),
        (["p", "context_window", "-1"], 2, "No such option"),
        (["p", "context_window", "0"], 1, "must be at least 1"),
        (["p", "account", "here"], 1, "'account' is no key of a profile that can be set"),
        (["p", "model", "--unset"], 1, "profile 'p' cannot go without model"),
        (["p", "model", ""], 1, "profile 'p' cannot go without model"),
        (["p", "model"], 2, "give a VALUE or --unset"),
        (["p", "effort", "x", "--unset"], 2, "give a VALUE or --unset"),
        (["gone", "model", "x"], 1, "no profile named 'gone' (configured: p)"),
        (["p", "thinking_display", "updates"], 1, "profile 'p' sets thinking_display, which the backend"),
    ],
)
def test_key_is_not_set(shell: Shell, arguments: list[str], code: int, sentence: str) -> None:
    add(shell, "p")
    before = shell.config_text
    outcome = shell("profile", "set", *arguments)
    assert outcome.code == code
    assert sentence in outcome.err
    assert shell.config_text == before


def test_default_is_chosen_and_listed(shell: Shell) -> None:
    add(shell, "p")
    add(shell, "q")
    shell.done("profile", "use", "q")
    listed = json.loads(shell.done("profile", "list", "--format", "json"))
    view = {"account": "a", "vision": True, "backend": "anthropic-messages", "model": "m"}
    assert listed == {
        "profiles": [{"name": "p", **view, "active": False}, {"name": "q", **view, "active": True}]
    }


def test_renamed_profile_moves_its_sessions(shell: Shell) -> None:
    add(shell, "p")
    with shell.store() as database:
        database.write(
            lambda tx: sessions.create(
                tx, "s1", working_directory="/", permission="read", approvals=False, profile="p"
            )
        )
    shell.done("profile", "rename", "p", "q")
    with shell.store() as database:
        row = database.read(lambda tx: sessions.get(tx, "s1"))
    assert row is not None
    assert row.profile == "q"
    assert "[profiles.q]" in shell.config_text


def test_removed_profile_leaves_the_rest(shell: Shell) -> None:
    add(shell, "p")
    shell.done("profile", "remove", "p")
    assert shell.config_text.rstrip("\n") == ACCOUNTS.rstrip("\n")
    assert shell("profile", "remove", "p").code == 1


def test_profile_that_keeps_the_file_from_loading_can_be_repaired(shell: Shell) -> None:
    broken = (
        ACCOUNTS
        + '\n[profiles.p]\naccount = "a"\nmodel = "m"\nmax_output_tokens = 5\nthinking = "budgeted"\n'
    )
    shell.write_config(broken)
    assert shell("profile", "list").code == 1
    shell.done("profile", "set", "p", "max_output_tokens", "50000")
    assert shell.config_text == broken.replace("= 5\n", "= 50000\n")

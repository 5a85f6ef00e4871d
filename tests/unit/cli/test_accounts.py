"""`meka account`: the file, the store, and that keys go to the one and never the other."""

import json

from meka.store import credentials
from meka.store.credentials import CredentialKind
from tests.unit.cli.conftest import Shell

KEY = "sk-test-123"


def add_work(meka: Shell) -> None:
    meka.done(
        "account", "add", "work", "--backend", "anthropic-messages", "--api-key-stdin", stdin=KEY + "\n"
    )


def test_account_is_added_with_its_key_in_the_store_alone(meka: Shell) -> None:
    add_work(meka)
    assert meka.config_text == '[accounts.work]\nbackend = "anthropic-messages"\n'
    assert meka.key_of("work") == KEY


def test_account_is_added_with_what_its_backend_reads(meka: Shell) -> None:
    meka.done(
        "account", "add", "w", "--backend", "openai-chat-completions", "--base-url", "https://x/v1",
        "--stream-usage", "false", "--max-tool-name-bytes", "64", "--api-key-stdin", stdin=KEY,
    )  # fmt: skip
    assert meka.config_text == (
        '[accounts.w]\nbackend = "openai-chat-completions"\nbase_url = "https://x/v1"\n'
        "stream_usage = false\nmax_tool_name_bytes = 64\n"
    )


def test_account_without_a_key_is_not_added(meka: Shell) -> None:
    outcome = meka("account", "add", "work", "--backend", "anthropic-messages")
    assert outcome.code == 1
    assert "--api-key-stdin" in outcome.err
    blank = meka("account", "add", "work", "--backend", "anthropic-messages", "--api-key-stdin", stdin=" \n")
    assert (blank.code, blank.err) == (1, "error: the API key is blank\n")
    assert meka.config_text == ""
    assert meka.key_of("work") is None


def test_backend_without_a_key_is_given_none(meka: Shell) -> None:
    meka.done("account", "add", "here", "--backend", "local")
    refused = meka("account", "add", "there", "--backend", "local", "--api-key-stdin", stdin=KEY)
    assert refused.err == "error: the backend local takes no API key\n"
    later = meka("account", "add", "sub", "--backend", "claude-subscription")
    assert later.code == 0
    assert "holds no credential yet" in later.err
    assert meka.key_of("here") is None


def test_refusals_are_the_configurations_own(meka: Shell) -> None:
    outcome = meka("account", "add", "x", "--backend", "nope", "--api-key-stdin", stdin=KEY)
    assert outcome.err.startswith("error: 'nope' is no backend; it is one of anthropic-messages, ")
    outcome = meka("account", "add", "a/b", "--backend", "local")
    assert (outcome.code, outcome.err) == (1, "error: account name holds a /\n")
    outcome = meka("account", "add", "x", "--backend", "local", "--base-url", "http://y")
    assert outcome.err == "error: account 'x' sets base_url, which its backend local never reads\n"


def test_account_is_not_added_to_a_file_that_does_not_load(meka: Shell) -> None:
    meka.write_config("[serve]\nnosuch = 1\n")
    outcome = meka("account", "add", "work", "--backend", "anthropic-messages", "--api-key-stdin", stdin=KEY)
    assert outcome.code == 1
    assert "line 2, column 1: unknown key 'nosuch' in [serve]" in outcome.err
    assert meka.config_text == "[serve]\nnosuch = 1\n"
    assert meka.key_of("work") is None


def test_login_rotates_the_key(meka: Shell) -> None:
    add_work(meka)
    before = meka.config_text
    meka.done("account", "login", "work", "--api-key-stdin", stdin="sk-other\n")
    assert (meka.key_of("work"), meka.config_text) == ("sk-other", before)


def test_login_is_refused_where_there_is_no_key(meka: Shell) -> None:
    meka.write_config(
        '[accounts.here]\nbackend = "local"\n[accounts.sub]\nbackend = "chatgpt-subscription"\n'
    )
    assert "takes no credential" in meka("account", "login", "here").err
    refused = meka("account", "login", "sub").err
    assert "states no client_id" in refused
    assert "remove the account and add it again with --client-id" in refused
    assert "no account named 'gone' (configured: here, sub)" in meka("account", "login", "gone").err


def test_accounts_are_listed_with_their_state(meka: Shell) -> None:
    add_work(meka)
    meka.done("account", "add", "here", "--backend", "local")
    meka.done("account", "add", "sub", "--backend", "claude-subscription", "--client-id", "c")
    with meka.store() as database:
        database.write(lambda tx: credentials.put(tx, "gone", CredentialKind.API_KEY, {"api_key": "x"}))
    listed = json.loads(meka.done("account", "list", "--format", "json"))
    assert listed == {
        "accounts": [
            {"name": "work", "backend": "anthropic-messages", "authenticated": "yes"},
            {"name": "here", "backend": "local", "authenticated": "yes"},
            {"name": "sub", "backend": "claude-subscription", "client_id": "c", "authenticated": "no"},
        ],
        "orphaned_credentials": ["gone"],
    }
    plain = meka("account", "list")
    assert [line.split()[0] for line in plain.out.splitlines()] == ["NAME", "work", "here", "sub"]
    assert "gone" in plain.err
    assert KEY not in plain.out


def test_empty_list_is_an_envelope_or_a_note(meka: Shell) -> None:
    assert json.loads(meka.done("account", "list", "--format", "json")) == {"accounts": []}
    outcome = meka("account", "list")
    assert (outcome.out, outcome.err) == ("", "no accounts\n")


def test_removed_account_takes_its_credential(meka: Shell) -> None:
    add_work(meka)
    meka.done("account", "remove", "work")
    assert (meka.config_text, meka.key_of("work")) == ("", None)


def test_orphaned_credential_bars_its_name_until_it_is_removed(meka: Shell) -> None:
    add_work(meka)
    meka.write_config("")
    again = meka("account", "add", "work", "--backend", "local")
    assert "a removed account's credential is still stored under 'work'" in again.err
    meka.done("account", "remove", "work")
    assert meka.key_of("work") is None
    meka.done("account", "add", "work", "--backend", "local")


def test_removing_what_is_not_there_says_so(meka: Shell) -> None:
    outcome = meka("account", "remove", "gone")
    assert (outcome.code, outcome.err) == (1, "error: no account named 'gone' (configured: none)\n")


def test_renamed_account_moves_its_credential_and_profiles(meka: Shell) -> None:
    add_work(meka)
    meka.done("profile", "add", "p", "--account", "work", "--model", "m")
    meka.done("account", "rename", "work", "office")
    assert (meka.key_of("office"), meka.key_of("work")) == (KEY, None)
    assert 'account = "office"' in meka.config_text


def test_account_in_use_is_not_removed(meka: Shell) -> None:
    add_work(meka)
    meka.done("profile", "add", "p", "--account", "work", "--model", "m")
    outcome = meka("account", "remove", "work")
    assert outcome.err == "error: account 'work' cannot be removed while a profile is on it: 'p'\n"
    assert meka.key_of("work") == KEY


def test_removal_and_rename_work_on_a_file_that_does_not_load(meka: Shell) -> None:
    add_work(meka)
    meka.write_config(meka.config_text + "\n[serve]\nnosuch = 1\n")
    meka.done("account", "rename", "work", "office")
    meka.done("account", "remove", "office")
    assert meka.config_text == "[serve]\nnosuch = 1\n"


def test_secret_on_a_broken_line_is_never_printed(meka: Shell) -> None:
    meka.write_config("[[serve.tokens]]\ntoken = sk-secret\n")
    for arguments in (
        ["account", "list"],
        ["account", "remove", "x"],
        ["profile", "list"],
        ["profile", "use", "p"],
    ):
        outcome = meka(*arguments)
        assert outcome.code == 1
        assert "line 2" in outcome.err
        assert "sk-" not in outcome.out + outcome.err

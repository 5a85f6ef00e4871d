"""What may be changed of accounts and profiles, how the rest is refused, and what stays as it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meka.base.errors import ConfigurationError
from meka.config import edit
from meka.config.draft import Draft

FILE = Path("/etc/meka/config.toml")
TEXT = """# My meka.
default_profile = "main"   # the usual one

# At work.
[accounts.work]
backend = "anthropic-messages"   # billed to the team
base_url = "https://gateway.example"

[accounts.here]
backend = "local"

[accounts.chat]
backend = "openai-chat-completions"

# The usual one.
[profiles.main]
account = "work"
model = "big"       # as the gateway calls it
fallbacks = [
  "cheap",  # when the other is out
]

[profiles.cheap]
account = "chat"
model = "small"

[serve]   # ours
bind = "127.0.0.1:9000"
"""


def draft(text: str = TEXT) -> Draft:
    return Draft(FILE, text)


def changed(change: Callable[[Draft], object], text: str = TEXT) -> str:
    opened = draft(text)
    change(opened)
    return opened.text


def refused(change: Callable[[Draft], object], text: str = TEXT) -> str:
    opened = draft(text)
    with pytest.raises(ConfigurationError) as caught:
        change(opened)
    return caught.value.detail


def test_added_account_follows_the_others_in_canonical_order() -> None:
    settings: dict[str, Any] = {"max_tool_name_bytes": 64, "base_url": "https://x", "prompt_cache_key": None}
    text = changed(lambda d: edit.add_account(d, "new", "anthropic-messages", settings))
    block = (
        '[accounts.new]\nbackend = "anthropic-messages"\nbase_url = "https://x"\nmax_tool_name_bytes = 64\n\n'
    )
    assert text == TEXT.replace("# The usual one.\n", block + "# The usual one.\n")


ACCOUNT_ADD_REFUSALS = [
    (" x", "local", {}, "account name has whitespace at an end"),
    ("x ", "local", {}, "account name has whitespace at an end"),
    ("", "local", {}, "account name is blank"),
    ("a/b", "local", {}, "account name holds a /"),
    ("a\nb", "local", {}, "account name holds a control character"),
    ("a\x85b", "local", {}, "account name holds a control character"),
    ("work", "local", {}, "an account named 'work' is already configured"),
    (
        "gone",
        "local",
        {},
        "a removed account's credential is still stored under 'gone'; clear it with "
        "`meka account remove` or DELETE /v1/accounts/gone",
    ),
    (
        "x",
        "opencode-go",
        {},
        "'opencode-go' is no backend; it is one of anthropic-messages, claude-subscription, "
        "openai-chat-completions, openai-responses, chatgpt-subscription, local",
    ),
    (
        "x",
        "local",
        {"base_url": "http://y"},
        "account 'x' sets base_url, which its backend local never reads",
    ),
    (
        "x",
        "openai-responses",
        {"stream_usage": True},
        "account 'x' sets stream_usage, which its backend openai-responses never reads",
    ),
    (
        "x",
        "anthropic-messages",
        {"client_id": "c"},
        "account 'x' sets client_id, which its backend anthropic-messages never reads",
    ),
    (
        "x",
        "claude-subscription",
        {"interleaved_thinking": True},
        "account 'x' sets interleaved_thinking, which its backend claude-subscription never reads",
    ),
    (
        "x",
        "anthropic-messages",
        {"base_url": "gateway"},
        "account 'x': base_url must be an http:// or https:// address",
    ),
    (
        "x",
        "anthropic-messages",
        {"interleaved_thinking": "yes"},
        "accounts.x.interleaved_thinking must be true or false",
    ),
    (
        "x",
        "anthropic-messages",
        {"max_tool_name_bytes": 3},
        "accounts.x.max_tool_name_bytes must be at least 16",
    ),
    ("x", "anthropic-messages", {"api_key": "k"}, "unknown key 'api_key' in [accounts.x]"),
]


@pytest.mark.parametrize(("name", "backend", "settings", "sentence"), ACCOUNT_ADD_REFUSALS)
def test_account_is_not_added(name: str, backend: str, settings: dict[str, Any], sentence: str) -> None:
    assert refused(lambda d: edit.add_account(d, name, backend, settings, orphans={"gone"})) == sentence


def test_removed_account_takes_its_table_alone() -> None:
    text = changed(lambda d: edit.remove_account(d, "here"))
    assert text == TEXT.replace('[accounts.here]\nbackend = "local"\n\n', "")


def test_account_that_profiles_name_is_not_removed() -> None:
    sentence = "account 'work' cannot be removed while a profile is on it: 'main'"
    assert refused(lambda d: edit.remove_account(d, "work")) == sentence


def test_removing_an_account_that_is_not_there_says_so() -> None:
    assert edit.remove_account(draft(), "gone") is False


def test_renamed_account_moves_its_profiles() -> None:
    text = changed(lambda d: edit.rename_account(d, "work", "the office"))
    assert text == TEXT.replace("[accounts.work]", '[accounts."the office"]').replace(
        'account = "work"', 'account = "the office"'
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("gone", "x", "no account named 'gone' (configured: work, here, chat)"),
        ("work", "here", "an account named 'here' is already configured"),
        ("work", "x ", "account name has whitespace at an end"),
        (
            "work",
            "old",
            "a removed account's credential is still stored under 'old'; clear it with "
            "`meka account remove` or DELETE /v1/accounts/old",
        ),
    ],
)
def test_account_is_not_renamed(old: str, new: str, sentence: str) -> None:
    assert refused(lambda d: edit.rename_account(d, old, new, orphans=["old"])) == sentence


def test_rename_to_the_same_name_changes_nothing() -> None:
    assert changed(lambda d: edit.rename_account(d, "work", "work")) == TEXT
    assert changed(lambda d: edit.rename_profile(d, "main", "main")) == TEXT


def test_added_profile_leaves_out_what_was_left_out() -> None:
    settings: dict[str, Any] = {
        "fallbacks": [" cheap ", ""], "model": "m", "account": "work", "effort": " ", "vision": False,
    }  # fmt: skip
    text = changed(lambda d: edit.add_profile(d, "new", settings))
    block = '[profiles.new]\naccount = "work"\nmodel = "m"\nvision = false\nfallbacks = ["cheap"]\n\n'
    assert text == TEXT.replace("[serve]", block + "[serve]")


PROFILE_ADD_REFUSALS = [
    ("main", {"account": "work", "model": "m"}, "a profile named 'main' is already configured"),
    ("a/b", {"account": "work", "model": "m"}, "profile name holds a /"),
    ("x\t", {"account": "work", "model": "m"}, "profile name has whitespace at an end"),
    ("x", {"model": "m"}, "profile 'x' needs an account"),
    ("x", {"account": " ", "model": "m"}, "profile 'x' needs an account"),
    ("x", {"account": "gone", "model": "m"}, "no account named 'gone' (configured: work, here, chat)"),
    ("x", {"account": "work"}, "profile 'x' has no model"),
    ("x", {"account": "work", "model": "  "}, "profile 'x' has no model"),
    (
        "x",
        {"account": "chat", "model": "m", "thinking": "off"},
        "profile 'x' sets thinking, which the backend openai-chat-completions never sends",
    ),
    (
        "x",
        {"account": "chat", "model": "m", "thinking_budget": 9},
        "profile 'x' sets thinking_budget, which the backend openai-chat-completions never sends",
    ),
    (
        "x",
        {"account": "work", "model": "m", "thinking_display": "updates"},
        "profile 'x' sets thinking_display, which the backend anthropic-messages never sends",
    ),
    (
        "x",
        {"account": "here", "model": "m", "effort": "low"},
        "profile 'x' sets effort, which the backend local never sends",
    ),
    (
        "x",
        {"account": "work", "model": "m", "thinking": "budgeted", "max_output_tokens": 100},
        "profile 'x': max_output_tokens (100) must exceed the thinking budget (16000)",
    ),
    (
        "x",
        {"account": "work", "model": "m", "thinking": "ADAPTIVE"},
        "profiles.x.thinking must be adaptive, budgeted or off",
    ),
    ("x", {"account": "work", "model": "m", "vision": "yes"}, "profiles.x.vision must be true or false"),
    (
        "x",
        {"account": "work", "model": "m", "context_window": -1},
        "profiles.x.context_window must be at least 1",
    ),
    (
        "x",
        {"account": "work", "model": "m", "fallbacks": ["gone"]},
        "profile 'x' falls back to 'gone', which is no profile",
    ),
    ("x", {"account": "work", "model": "m", "nope": 1}, "unknown key 'nope' in [profiles.x]"),
]


@pytest.mark.parametrize(("name", "settings", "sentence"), PROFILE_ADD_REFUSALS)
def test_profile_is_not_added(name: str, settings: dict[str, Any], sentence: str) -> None:
    assert refused(lambda d: edit.add_profile(d, name, settings)) == sentence


ONE = '[accounts.a]\nbackend = "local"\n\n[profiles.one]\naccount = "a"\nmodel = "m"\n'
TWO = '[profiles.two]\naccount = "a"\nmodel = "m"\n'
SETTINGS = {"account": "a", "model": "m"}


def test_second_profile_pins_the_first_where_that_is_asked_for() -> None:
    assert changed(lambda d: edit.add_profile(d, "two", SETTINGS, pin_first=True), ONE) == (
        'default_profile = "one"\n\n' + ONE + "\n" + TWO
    )


def test_second_profile_pins_nothing_at_a_shell() -> None:
    assert changed(lambda d: edit.add_profile(d, "two", SETTINGS), ONE) == ONE + "\n" + TWO


def test_second_profile_can_take_the_default() -> None:
    change = lambda d: edit.add_profile(d, "two", SETTINGS, pin_first=True, make_default=True)  # noqa: E731
    assert changed(change, ONE).startswith('default_profile = "two"\n')


def test_first_and_third_profile_pin_nothing() -> None:
    account = ONE.split("[profiles", maxsplit=1)[0]
    assert "default" not in changed(lambda d: edit.add_profile(d, "two", SETTINGS, pin_first=True), account)
    assert "default" not in changed(
        lambda d: edit.add_profile(d, "three", SETTINGS, pin_first=True), ONE + "\n" + TWO
    )


def test_one_write_sets_changes_and_removes() -> None:
    changes = {"model": "huge", "effort": "high", "fallbacks": None, "thinking_budget": None}
    text = changed(lambda d: edit.change_profile(d, "main", changes))
    assert text == TEXT.replace('"big"  ', '"huge"  ').replace(
        'fallbacks = [\n  "cheap",  # when the other is out\n]\n', ""
    ).replace("as the gateway calls it\n", 'as the gateway calls it\neffort = "high"\n')


def test_text_that_no_file_can_hold_is_replaced(tmp_path: Path) -> None:
    opened = Draft(tmp_path / "config.toml", TEXT)
    edit.change_profile(opened, "main", {"model": "a\x00\ud800b"})
    opened.save()
    assert 'model = "a\ufffd\ufffdb"' in (tmp_path / "config.toml").read_text("utf-8")


def test_blank_text_removes_a_key() -> None:
    text = changed(lambda d: edit.change_profile(d, "main", {"effort": "high"}))
    assert changed(lambda d: edit.change_profile(d, "main", {"effort": ""}), text) == TEXT


def test_change_can_move_the_default() -> None:
    text = changed(lambda d: edit.change_profile(d, "cheap", {}, make_default=True))
    assert text == TEXT.replace('default_profile = "main"', 'default_profile = "cheap"')


PROFILE_CHANGE_REFUSALS = [
    ("gone", {"model": "m"}, "no profile named 'gone' (configured: main, cheap)"),
    ("main", {"model": None}, "profile 'main' cannot go without model"),
    ("main", {"model": " "}, "profile 'main' cannot go without model"),
    ("main", {"account": None}, "profile 'main' cannot go without account"),
    ("main", {"account": "gone"}, "no account named 'gone' (configured: work, here, chat)"),
    (
        "main",
        {"thinking_display": "updates"},
        "profile 'main' sets thinking_display, which the backend anthropic-messages never sends",
    ),
    (
        "main",
        {"thinking": "budgeted", "max_output_tokens": 5},
        "profile 'main': max_output_tokens (5) must exceed the thinking budget (16000)",
    ),
    ("main", {"fallbacks": ["gone"]}, "profile 'main' falls back to 'gone', which is no profile"),
    ("main", {"vision": 1}, "profiles.main.vision must be true or false"),
]


@pytest.mark.parametrize(("name", "changes", "sentence"), PROFILE_CHANGE_REFUSALS)
def test_profile_is_not_changed(name: str, changes: dict[str, Any], sentence: str) -> None:
    assert refused(lambda d: edit.change_profile(d, name, changes)) == sentence


def test_move_to_a_backend_that_never_sends_a_kept_key_is_refused() -> None:
    text = changed(lambda d: edit.change_profile(d, "main", {"effort": "high"}))
    assert refused(lambda d: edit.change_profile(d, "main", {"account": "here"}), text) == (
        "profile 'main' sets effort, which the backend local never sends"
    )


def test_key_that_was_inert_before_keeps_no_other_from_changing() -> None:
    text = TEXT.replace('model = "small"', 'model = "small"\nthinking = "off"')
    assert 'effort = "low"' in changed(lambda d: edit.change_profile(d, "cheap", {"effort": "low"}), text)


def test_profile_in_use_as_a_fallback_is_not_removed() -> None:
    assert refused(lambda d: edit.remove_profile(d, "cheap")) == (
        "profile 'cheap' is a fallback of 'main'; drop it there first"
    )


def test_default_is_not_removed_while_two_would_remain() -> None:
    text = changed(lambda d: edit.add_profile(d, "third", {"account": "chat", "model": "m"}))
    said = refused(lambda d: edit.remove_profile(d, "main"), text)
    assert said.startswith("profile 'main' is the default; make another the default first")
    assert 'PATCH /v1/profiles/{name} and "default": true' in said


def test_default_goes_with_its_profile_when_one_is_left() -> None:
    text = changed(lambda d: edit.remove_profile(d, "main"))
    assert "default_profile" not in text
    assert "[profiles.main]" not in text
    assert '[profiles.cheap]\naccount = "chat"\nmodel = "small"\n\n[serve]   # ours\n' in text


def test_renamed_profile_moves_default_and_fallbacks() -> None:
    text = changed(lambda d: edit.rename_profile(d, "main", "usual"))
    assert text == TEXT.replace('default_profile = "main"', 'default_profile = "usual"').replace(
        "[profiles.main]", "[profiles.usual]"
    )
    text = changed(lambda d: edit.rename_profile(d, "cheap", "spare"))
    assert text == TEXT.replace('"cheap"', '"spare"').replace("[profiles.cheap]", "[profiles.spare]")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("gone", "x", "no profile named 'gone' (configured: main, cheap)"),
        ("main", "cheap", "a profile named 'cheap' is already configured"),
        ("main", " x", "profile name has whitespace at an end"),
        ("main", "x/y", "profile name holds a /"),
    ],
)
def test_profile_is_not_renamed(old: str, new: str, sentence: str) -> None:
    assert refused(lambda d: edit.rename_profile(d, old, new)) == sentence


def test_profile_that_a_server_was_started_with_stays_its_default() -> None:
    assert refused(lambda d: edit.rename_profile(d, "main", "x", served="main")) == (
        "the server runs with --profile main; it is not renamed until it restarts"
    )
    assert refused(lambda d: edit.remove_profile(d, "main", served="main")) == (
        "the server runs with --profile main; it is not removed until it restarts"
    )
    assert refused(lambda d: edit.use_profile(d, "cheap", served="main")) == (
        "the server runs with --profile main, its default until it restarts"
    )
    assert refused(lambda d: edit.change_profile(d, "cheap", {}, make_default=True, served="main"))
    settings = {"account": "chat", "model": "m"}
    assert refused(lambda d: edit.add_profile(d, "new", settings, make_default=True, served="main"))


def test_used_profile_becomes_the_default() -> None:
    assert changed(lambda d: edit.use_profile(d, "cheap")) == TEXT.replace(
        'default_profile = "main"', 'default_profile = "cheap"'
    )
    assert (
        refused(lambda d: edit.use_profile(d, "gone")) == "no profile named 'gone' (configured: main, cheap)"
    )


def test_removals_and_renames_work_on_a_file_that_does_not_load() -> None:
    broken = TEXT + "nosuchkey = 1\n[profiles.odd]\naccount = 3\nnosuch = true\n"
    assert "[accounts.here]" not in changed(lambda d: edit.remove_account(d, "here"), broken)
    assert "[accounts.office]" in changed(lambda d: edit.rename_account(d, "work", "office"), broken)
    assert "[profiles.odd]" not in changed(lambda d: edit.remove_profile(d, "odd"), broken)
    assert "[profiles.even]" in changed(lambda d: edit.rename_profile(d, "odd", "even"), broken)


def test_section_that_is_no_table_is_refused() -> None:
    assert "must hold one table a name" in refused(lambda d: edit.remove_account(d, "a"), "accounts = 3\n")
    assert "must hold one table a name" in refused(lambda d: edit.remove_account(d, "a"), "accounts.a = 3\n")

"""Edits of a text: what they mean, and that nothing else moves."""

import tomllib
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meka.config.rewrite import add_table, remove_path, rename_key, set_value

ORDER = ("account", "model", "effort", "fallbacks")
SECTIONS = ("default_profile", "accounts", "profiles")
HEADERS = '''# head
default_profile = "b"  # the default

[accounts.a]  # first
backend = "local"   # kept

# about work
[accounts.work]
backend = "anthropic-messages"

[profiles.a] # px
account = "work"
fallbacks = [
  "b", # why
]

# about serving
[serve]
bind = "x:1"

# b's comment
[profiles.b]
account = "work"'''
DOTTED = 'accounts.a.backend = "local" # one\naccounts.b.backend = "local"\nprofiles.a.account = "a"\n'
INLINE = 'accounts = { a = { backend = "local" }, b = {backend="local"} } # all\nprofiles = {}\n'
MIXED = '[accounts]\na.backend = "local"\nb = { backend = "local" }\n[profiles]\n'


def test_rename_changes_the_name_alone() -> None:
    assert rename_key(HEADERS, ("accounts", "work"), "w") == HEADERS.replace(
        "[accounts.work]", "[accounts.w]"
    )


@pytest.mark.parametrize("text", [HEADERS, DOTTED, INLINE, MIXED])
def test_rename_works_in_every_spelling(text: str) -> None:
    name = 'new "one" / ü'
    before, after = tomllib.loads(text), tomllib.loads(rename_key(text, ("accounts", "a"), name))
    assert after["accounts"][name] == before["accounts"]["a"]
    assert "a" not in after["accounts"]


def test_value_is_replaced_where_it_stands() -> None:
    assert set_value(HEADERS, ("default_profile",), "a") == HEADERS.replace('"b"  #', '"a"  #')


def test_item_of_an_array_is_replaced_where_it_stands() -> None:
    changed = set_value(HEADERS, ("profiles", "a", "fallbacks", 0), "c")
    assert changed == HEADERS.replace('  "b", # why', '  "c", # why')


def test_new_key_stands_where_its_order_puts_it() -> None:
    changed = set_value(HEADERS, ("profiles", "a", "model"), "m", ORDER)
    assert changed == HEADERS.replace(
        '[profiles.a] # px\naccount = "work"\n', '[profiles.a] # px\naccount = "work"\nmodel = "m"\n'
    )


def test_new_key_is_added_after_a_last_line_without_an_end() -> None:
    assert set_value(HEADERS, ("profiles", "b", "model"), "m", ORDER) == HEADERS + '\nmodel = "m"\n'


def test_root_key_stands_before_the_first_table_and_its_comment() -> None:
    text = "# file\n\n# table\n[serve]\ndocs = true\n"
    assert set_value(text, ("default_profile",), "x") == (
        '# file\n\ndefault_profile = "x"\n\n# table\n[serve]\ndocs = true\n'
    )


def test_removed_table_takes_its_lines_and_no_others_comment() -> None:
    removed = remove_path(HEADERS, ("accounts", "a"))
    assert removed == HEADERS.replace('[accounts.a]  # first\nbackend = "local"   # kept\n\n', "")
    removed = remove_path(HEADERS, ("profiles", "b"))
    assert removed == HEADERS.replace('[profiles.b]\naccount = "work"', "")


def test_removed_key_takes_its_lines() -> None:
    removed = remove_path(HEADERS, ("profiles", "a", "fallbacks"))
    assert removed == HEADERS.replace('fallbacks = [\n  "b", # why\n]\n', "")


def test_new_table_follows_the_others_of_its_section() -> None:
    block = '[accounts.c]\nbackend = "local"\n\n'
    text = HEADERS.replace("[profiles.a]", block + "[profiles.a]")
    assert add_table(HEADERS, ("accounts", "c"), {"backend": "local"}, SECTIONS) == text


def test_first_table_of_a_section_stands_before_later_sections() -> None:
    text = "# about serving\n[serve]\ndocs = true\n"
    assert add_table(text, ("accounts", "c"), {"backend": "local"}, SECTIONS) == (
        '[accounts.c]\nbackend = "local"\n\n' + text
    )


def test_windows_line_ends_are_kept() -> None:
    text = "[accounts.a]\r\nbackend = 'local'\r\n\r\n[serve]\r\ndocs = true\r\n"
    changed = add_table(text, ("accounts", "b"), {"backend": "local"}, SECTIONS)
    changed = set_value(changed, ("accounts", "a", "base_url"), "u")
    assert "\n" not in changed.replace("\r\n", "")


@pytest.mark.parametrize(
    "text", ["", "# only a comment", HEADERS, DOTTED, INLINE, MIXED, "[serve]\ndocs=true"]
)
def test_table_comes_and_goes_in_every_spelling(text: str) -> None:
    path = ("accounts", "new one")
    grown = add_table(text, path, {"backend": "local", "stream_usage": False}, SECTIONS)
    before, after = tomllib.loads(text), tomllib.loads(grown)
    assert after["accounts"].pop("new one") == {"backend": "local", "stream_usage": False}
    assert _without_empty(after) == _without_empty(before)
    assert _without_empty(tomllib.loads(remove_path(grown, path))) == _without_empty(before)


def _without_empty(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value != {}}


def _is_new(accounts: dict[str, Any], name: str) -> bool:
    return name not in accounts


_NAMES = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="/"), min_size=1, max_size=8
).filter(lambda name: name == name.strip())
_VALUES = st.one_of(st.text(max_size=12), st.booleans(), st.integers(-5, 5), st.lists(_NAMES, max_size=3))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([HEADERS, DOTTED, INLINE, MIXED, ""]), st.data())
def test_any_sequence_of_edits_means_what_it_says(text: str, data: st.DataObject) -> None:
    """The text's reading follows a plain dictionary that is changed the same way."""
    document = tomllib.loads(text)
    for _ in range(data.draw(st.integers(1, 5))):
        accounts = document.setdefault("accounts", {})
        edit = data.draw(st.sampled_from(["add", "set", "unset", "rename", "remove"]))
        name = data.draw(st.sampled_from(sorted(accounts))) if accounts else None
        if edit == "add" or name is None:
            new = data.draw(_NAMES.filter(partial(_is_new, accounts)))
            accounts[new] = {"backend": data.draw(_VALUES)}
            text = add_table(text, ("accounts", new), accounts[new], SECTIONS)
        elif edit == "set":
            key, value = data.draw(_NAMES), data.draw(_VALUES)
            accounts[name][key] = value
            text = set_value(text, ("accounts", name, key), value, ORDER)
        elif edit == "unset" and len(accounts[name]) > 1:
            key = data.draw(st.sampled_from(sorted(accounts[name])))
            del accounts[name][key]
            text = remove_path(text, ("accounts", name, key))
        elif edit == "rename":
            new = data.draw(_NAMES.filter(partial(_is_new, accounts)))
            accounts[new] = accounts.pop(name)
            text = rename_key(text, ("accounts", name), new)
        elif edit == "remove":
            del accounts[name]
            text = remove_path(text, ("accounts", name))
        assert _without_empty(tomllib.loads(text)) == _without_empty(document)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([HEADERS, DOTTED, INLINE, MIXED]), _NAMES)
def test_rename_back_restores_every_byte(text: str, name: str) -> None:
    accounts = tomllib.loads(text)["accounts"]
    if name in accounts:
        return
    assert rename_key(rename_key(text, ("accounts", "a"), name), ("accounts", name), "a") == text

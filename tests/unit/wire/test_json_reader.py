"""The strict reader against the standard one."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from meka.wire.json_reader import JsonFaultError, holds_more_than, read_json

_TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
_NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
_NEARLY_JSON = st.lists(st.sampled_from('{}[]",:\\u 0d8eN-')).map("".join).map(str.encode)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXT, inner, max_size=4)),
)


@settings(deadline=None)
@given(_VALUES, st.booleans())
def test_reader_reads_what_json_writes(value: Any, ascii_only: bool) -> None:
    assert read_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@settings(deadline=None)
@given(
    st.one_of(
        st.binary(max_size=40), st.lists(st.sampled_from('{}[]",:\\u 0d8eN-')).map("".join).map(str.encode)
    )
)
def test_reader_reads_or_refuses_any_bytes(raw: bytes) -> None:
    try:
        value = read_json(raw)
    except JsonFaultError:
        return
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def _count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, inner))


@settings(deadline=None)
@given(_VALUES, st.booleans())
def test_no_value_goes_uncounted(value: Any, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    count = _count(value)
    assert holds_more_than(raw, count - 1) or len(raw) <= count - 1
    assert not holds_more_than(raw, 2 * count)


def test_words_are_no_values() -> None:
    text = json.dumps({"text": 'a, [b], {c}: "d" \\' * 1000}).encode()
    assert not holds_more_than(text, 2)

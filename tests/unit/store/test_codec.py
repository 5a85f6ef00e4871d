"""Columns: moments to the microsecond, JSON that any floor can send on."""

import json
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from meka.base.text import scrub_tree
from meka.store.codec import clean_json, from_micros, load_json, to_micros

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.datetimes(timezones=st.just(UTC)))
def test_moment_comes_back_exactly(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


def test_moment_of_another_zone_is_the_same_moment_in_utc() -> None:
    moment = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))

    assert from_micros(to_micros(moment)) == moment
    assert from_micros(to_micros(moment)).utcoffset() == timedelta(0)


@settings(deadline=None)
@given(json_values)
def test_any_value_is_stored_as_strict_json_that_reads_back_as_what_was_handed_out(value: object) -> None:
    clean, text = clean_json(value)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(text.encode(), parse_constant=refuse) == clean
    assert load_json(text) == clean
    assert scrub_tree(clean) == clean


def test_clean_value_is_handed_out_as_it_is() -> None:
    value = {"text": "ä\n\t\u2028", "list": [1, 2.5, None]}

    assert clean_json(value)[0] is value

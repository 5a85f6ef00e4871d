"""Text from outside, made such as can be stored."""

import pytest

from meka.base.text import scrub


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a\x00b", "a\ufffdb"),
        ("é\ud800", "é\ufffd"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ufeff\ud800\ufeff", "\ufeff\ufffd\ufeff"),
    ],
)
def test_text_is_scrubbed_of_what_no_store_holds(text: str, scrubbed: str) -> None:
    assert scrub(text) == scrubbed


@pytest.mark.parametrize("shift", range(3))
def test_long_text_keeps_pairs_wherever_they_fall(shift: int) -> None:
    text = "a" * shift + "\ud83d\ude00" * 20_000 + "\ud800"
    assert scrub(text) == "a" * shift + "\U0001f600" * 20_000 + "\ufffd"

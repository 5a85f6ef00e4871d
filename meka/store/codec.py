"""How values become columns: moments as integer microseconds, JSON as text without NUL or surrogates."""

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from meka.base.text import scrub_tree

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, exactly (a float would lose some)."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware moment that `to_micros` stored."""
    return _EPOCH + timedelta(microseconds=micros)


def optional_micros(moment: datetime | None) -> int | None:
    """`to_micros` over a column that may be empty."""
    return None if moment is None else to_micros(moment)


def optional_moment(micros: int | None) -> datetime | None:
    """`from_micros` over a column that may be empty."""
    return None if micros is None else from_micros(micros)


def clean_json(value: Any) -> tuple[Any, str]:
    """`value` as it can be stored, and its text.

    The common value is clean and is dumped once; only one that holds NUL, a lone surrogate or a number that
    JSON has no word for is rebuilt.
    """
    try:
        text = _dump(value)
        text.encode()
    except ValueError:  # a lone surrogate, NaN, infinity
        pass
    else:
        if "\\u0000" not in text:
            return value, text
    cleaned = _without_nonfinite(scrub_tree(value))
    return cleaned, _dump(cleaned)


def dump_json(value: Any) -> str:
    """The text that is stored for `value`."""
    return clean_json(value)[1]


def load_json(text: str) -> Any:
    """The value that `dump_json` stored."""
    return json.loads(text)


def optional_json(value: Any) -> str | None:
    """`dump_json` over a column that may be empty."""
    return None if value is None else dump_json(value)


def optional_value(text: str | None) -> Any:
    """`load_json` over a column that may be empty."""
    return None if text is None else load_json(text)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _without_nonfinite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_without_nonfinite(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nonfinite(item) for key, item in value.items()}
    return value

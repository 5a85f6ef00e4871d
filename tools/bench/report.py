"""What came of a measure, beside its target, as a table and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

_HEADINGS = ("what", "measured", "floor", "ratio", "target", "reached")


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. The target bounds the ratio to the floor where `bounds_ratio`, else the value.

    `least`: the target is the least that is wanted, not the most. A result without a target only informs.
    """

    what: str
    value: float
    unit: str
    floor: float | None = None
    target: float | None = None
    bounds_ratio: bool = False
    least: bool = False

    @property
    def ratio(self) -> float | None:
        """The value beside the floor."""
        return self.value / self.floor if self.floor else None

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        measured = self.ratio if self.bounds_ratio else self.value
        if self.target is None or measured is None:
            return None
        return measured >= self.target if self.least else measured <= self.target


def as_table(results: Sequence[Result]) -> str:
    """The results in columns."""
    rows = [_HEADINGS, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = [
        row[0].ljust(widths[0])
        + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def as_line(result: Result) -> str:
    """A result by itself, as it comes."""
    return "  ".join(cell for cell in _row(result) if cell)


def as_json(results: Sequence[Result]) -> str:
    """The results with what the table derives."""
    return json.dumps(
        [{**asdict(result), "ratio": result.ratio, "reached": result.reached} for result in results], indent=2
    )


def _row(result: Result) -> tuple[str, ...]:
    ratio, reached = result.ratio, result.reached
    return (
        result.what,
        _figure(result.value, result.unit),
        "" if result.floor is None else _figure(result.floor, result.unit),
        "" if ratio is None else f"{ratio:.1f}x",
        _target(result),
        "" if reached is None else "yes" if reached else "NO",
    )


def _figure(value: float, unit: str) -> str:
    digits = 0 if value == round(value) or value >= 1000 else 1 if value >= 100 else 2
    return f"{value:.{digits}f} {unit}"


def _target(result: Result) -> str:
    if result.target is None:
        return ""
    sign = ">=" if result.least else "<="
    return f"{sign} {result.target:g}x" if result.bounds_ratio else f"{sign} {result.target:g} {result.unit}"

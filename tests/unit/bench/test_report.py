"""A bench's table says what was reached, and a machine can read it."""

import json

import pytest

from tools.bench.report import Result, as_json, as_line, as_table


@pytest.mark.parametrize(
    ("result", "reached"),
    [
        (Result("a", 5.0, "ms", target=5), True),
        (Result("a", 5.1, "ms", target=5), False),
        (Result("a", 60.0, "turns/s", target=60, least=True), True),
        (Result("a", 59.9, "turns/s", target=60, least=True), False),
        (Result("a", 8.0, "ms", 2.0, target=4, bounds_ratio=True), True),
        (Result("a", 3.0, "ms", 0.5, target=4, bounds_ratio=True), False),
        (Result("a", 5.0, "ms"), None),
    ],
)
def test_result_is_held_to_its_target(result: Result, reached: bool | None) -> None:
    assert result.reached is reached


def test_table_names_what_was_missed() -> None:
    table = as_table([Result("fast", 1.0, "ms", 0.5, target=2), Result("slow", 9.0, "ms", target=2)])

    _, _, fast, slow = table.splitlines()
    assert fast.split() == ["fast", "1", "ms", "0.50", "ms", "2.0x", "<=", "2", "ms", "yes"]
    assert slow.endswith("NO")


def test_line_leaves_out_what_a_result_does_not_have() -> None:
    assert as_line(Result("weight", 1.5, "MB")) == "weight  1.50 MB"


def test_json_holds_the_ratio_and_the_verdict() -> None:
    (told,) = json.loads(as_json([Result("a", 8.0, "ms", 2.0, target=3, bounds_ratio=True)]))

    assert (told["ratio"], told["reached"]) == (4.0, False)

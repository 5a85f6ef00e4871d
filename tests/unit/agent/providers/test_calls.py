"""Arguments that are no JSON object are rejected; names fit the endpoint and come back."""

import re

import pytest

from meka.agent.blocks import ToolUse
from meka.agent.providers.base import ToolEnd, ToolRejected, ToolSchema
from meka.agent.providers.calls import ToolNames, finished_call, names_for
from tests.unit.agent.providers.samples import a_request, assistant


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ({"a": 1}, {"a": 1}),
        ('{"a": "x\\ud800y\\u0000"}', {"a": "x\ufffdy\ufffd"}),
    ],
)
def test_arguments_are_read_as_an_object(arguments: object, parsed: dict[str, object]) -> None:
    assert finished_call("c", "tool", arguments) == ToolEnd("c", "tool", parsed)


@pytest.mark.parametrize(
    "arguments",
    ["{", "[]", "null", '"a"', '{"a": NaN}', '{"a": 1e999}', '{"a": ' + "[" * 70 + "]" * 70 + "}",
     '{"a": ' + "[" * 200_000, '{"a": ' + "9" * 5000 + "}", 7, None],
)  # fmt: skip
def test_anything_else_is_a_rejected_call(arguments: object) -> None:
    call = finished_call("c", "tool", arguments)

    assert isinstance(call, ToolRejected)
    assert (call.id, call.name) == ("c", "tool")


@pytest.mark.parametrize("limit", [3, 9, 20, 64])
def test_a_long_name_fits_its_limit_and_maps_back(limit: int) -> None:
    long_names = [f"mcp__server__{'x' * 80}{end}" for end in "ab"]
    names = ToolNames(limit, long_names)

    wires = [names.to_wire(name) for name in long_names]

    assert all(re.fullmatch(rf"[A-Za-z0-9_-]{{1,{limit}}}", wire) for wire in wires)
    assert [names.from_wire(wire) for wire in wires] == long_names


def test_a_name_with_other_characters_is_replaced_and_maps_back() -> None:
    names = ToolNames(64)

    assert re.fullmatch(r"caf__au_lait_[0-9a-f]{8}", names.to_wire("café au lait"))
    assert names.from_wire(names.to_wire("café au lait")) == "café au lait"


def test_a_name_that_fits_and_one_that_nobody_told_stay_as_they_are() -> None:
    assert ToolNames(64).to_wire("read_file") == "read_file"
    assert ToolNames(64).from_wire("made_up") == "made_up"


def test_the_wire_name_of_a_tool_does_not_depend_on_the_others() -> None:
    name = "y" * 90
    alone = names_for(a_request(tools=[ToolSchema(name, "", {})]), 64)
    among_others = names_for(a_request(assistant(ToolUse("c", "y" * 91, {}))), 64)

    assert alone.to_wire(name) == among_others.to_wire(name)

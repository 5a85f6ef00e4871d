"""The document has what clients know of the API (surface.yaml), but for what deviations.yaml explains."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.contract.checking import the_contract
from tools.codegen.document import reference_name

HERE = Path(__file__).parent
SURFACE = yaml.safe_load((HERE / "surface.yaml").read_text("utf-8"))
DEVIATIONS: Mapping[str, str] = yaml.safe_load((HERE / "deviations.yaml").read_text("utf-8"))
DOCUMENT = the_contract().document
OURS = {f"{operation.method} {operation.path}": operation for operation in DOCUMENT.operations()}
THEIRS = {each["op"]: each for each in SURFACE["operations"]}

Json = Mapping[str, Any]


def differences() -> Iterator[str]:
    """Every place where an operation that is built, or a shape that it uses, lacks what the surface has."""
    shapes: dict[str, None] = {}
    for name, theirs in THEIRS.items():
        if name in OURS:
            yield from (f"{name}: {what}" for what in _operation_differences(theirs, OURS[name]))
            shapes |= dict.fromkeys(_shapes_of(theirs))
    for name in _with_nested(shapes):
        yield from _shape_differences(name)
    for name, theirs in SURFACE["events"].items():
        if name in DOCUMENT.events:
            yield from _event_differences(name, theirs)
    yield from (
        f"problem {slug}: {status}"
        for slug, kind in SURFACE["errors"]["types"].items()
        for status in kind["status"]
        if slug in DOCUMENT.problems and status not in DOCUMENT.problems[slug]["statuses"]
    )


def _operation_differences(theirs: Json, ours: Any) -> Iterator[str]:
    if theirs["scopes"] != "unknown" and theirs["scopes"]:
        mode = theirs.get("scope_mode", "all")
        scopes = set((ours.scopes or {}).get(mode, ()))
        yield from (f"scope {scope}" for scope in theirs["scopes"] if scope not in scopes)
    parameters = {(each["in"], each["name"]): each for each in DOCUMENT.parameters(ours)}
    for parameter in theirs.get("params", ()):
        found = parameters.get((parameter["in"], parameter["name"]))
        if found is None:
            yield f"{parameter['in']} parameter {parameter['name']}"
        else:
            yield from _value_differences(
                f"{parameter['in']} parameter {parameter['name']}", parameter, found["schema"]
            )
    if "body" in theirs and bool(ours.spec["requestBody"].get("required")) != theirs["body"]["required"]:
        yield "whether a body is required"
    for status, answer in theirs["responses"].items():
        yield from _answer_differences(status, answer, ours)


def _answer_differences(status: str, theirs: Any, ours: Any) -> Iterator[str]:
    if status not in ours.spec["responses"]:
        yield f"status {status}"
        return
    if not isinstance(theirs, dict):
        return
    for slug in theirs.get("types", ()):
        if slug not in ours.problems.get(int(status), ()):
            yield f"problem {status} {slug}"
    headers = DOCUMENT.resolve(ours.spec["responses"][status]).get("headers", {})
    yield from (f"header {status} {name}" for name in theirs.get("headers", ()) if name not in headers)


def _shapes_of(theirs: Json) -> Iterator[str]:
    for answer in (theirs.get("body"), *theirs["responses"].values()):
        if isinstance(answer, dict) and answer.get("schema") in SURFACE["schemas"]:
            yield answer["schema"]


def _with_nested(names: Mapping[str, None]) -> Iterator[str]:
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop(0)
        if name not in seen:
            seen.add(name)
            yield name
            waiting += list(_references(SURFACE["schemas"].get(name, {})))


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("ref"), str):
            yield node["ref"]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _shape_differences(name: str) -> Iterator[str]:
    theirs = SURFACE["schemas"].get(name)
    if theirs is None or "properties" not in theirs:
        return
    if name not in DOCUMENT.schemas:
        yield f"schema {name}"
        return
    ours = _whole(DOCUMENT.schemas[name])
    for field, value in theirs["properties"].items():
        if field not in ours["properties"]:
            yield f"{name}.{field}"
        else:
            yield from _value_differences(f"{name}.{field}", value, ours["properties"][field])
    for field in (*theirs.get("required", ()), *theirs.get("required_from_seed", ())):
        if field not in ours["required"]:
            yield f"{name}.{field}: required"
    if theirs.get("additional") is False and ours.get("additionalProperties") is not False:
        yield f"{name}: unknown fields are refused"


def _event_differences(name: str, theirs: Json) -> Iterator[str]:
    kind = DOCUMENT.events[name]
    ours = _whole(DOCUMENT.resolve(kind["schema"]))
    for field, value in theirs.get("fields", {}).items():
        if field not in ours["properties"]:
            yield f"event {name}.{field}"
        else:
            yield from _value_differences(f"event {name}.{field}", value, ours["properties"][field])
    if bool(theirs.get("terminal")) != kind["terminal"]:
        yield f"event {name}: terminal"
    if bool(theirs.get("no_id")) == kind["numbered"] and name != "feed.gap":
        yield f"event {name}: numbered"


def _value_differences(place: str, theirs: Json, ours: Json) -> Iterator[str]:
    """Type, format, values and bounds of one value; prose values are a minimum, as they are examples."""
    ours = _plain(ours)
    if "ref" in theirs:
        return
    if theirs.get("type", "any") not in ("any", ours.get("type")):
        yield f"{place}: type {theirs['type']}"
    if theirs.get("format") == "uuid" and ours.get("format") != "uuid":
        yield f"{place}: format uuid"
    missing = [value for value in theirs.get("enum", ()) if value not in ours.get("enum", ())]
    yield from (f"{place}: value {value}" for value in missing)
    if "default" in theirs and "default" in ours and theirs["default"] != ours["default"]:
        yield f"{place}: default {theirs['default']}"
    if theirs.get("type") == "array":
        yield from _value_differences(f"{place}[]", theirs.get("items", {}), ours.get("items", {}))


def _plain(schema: Json) -> Json:
    """A schema behind its reference, and behind the choice between it and null."""
    found = DOCUMENT.resolve(schema)
    for choice in found.get("anyOf", ()):
        if "$ref" not in choice or reference_name(choice["$ref"]) != "Null":
            return _plain(choice)
    return found


def _whole(schema: Json) -> dict[str, Any]:
    """An object with the parts of its allOf in one."""
    whole: dict[str, Any] = {"properties": {}, "required": []}
    for part in schema.get("allOf", (schema,)):
        found = DOCUMENT.resolve(part)
        merged = _whole(found) if "allOf" in found else found
        whole["properties"] |= merged.get("properties", {})
        whole["required"] = [*whole["required"], *merged.get("required", ())]
        if "additionalProperties" in merged:
            whole["additionalProperties"] = merged["additionalProperties"]
    return whole


def test_what_is_built_has_all_that_clients_know() -> None:
    print("not built yet:", *sorted(set(THEIRS) - set(OURS)), sep="\n  ")  # shown by `pytest -rP`
    print("events not built yet:", *sorted(set(SURFACE["events"]) - set(DOCUMENT.events)), sep="\n  ")
    assert sorted(set(differences()) - set(DEVIATIONS)) == []


def test_deviations_are_real_and_reasoned() -> None:
    assert sorted(set(DEVIATIONS) - set(differences())) == []
    assert all(isinstance(reason, str) and reason for reason in DEVIATIONS.values())


def test_nothing_is_built_that_clients_do_not_know() -> None:
    assert set(OURS) - set(THEIRS) == set()

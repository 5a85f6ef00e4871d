"""What `openapi.yaml` promises of itself, beyond being OpenAPI."""

import dataclasses
import logging
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import connexion
import pytest
from connexion.resolver import Resolver
from openapi_spec_validator import OpenAPIV30SpecValidator

from meka.agent.blocks import Block
from meka.base.errors import MekaError
from tools.codegen.document import Json, Operation, load, reference_name
from tools.codegen.operations import read_scopes

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = load(ROOT / "openapi.yaml")
OPERATIONS = {operation.id: operation for operation in DOCUMENT.operations()}
FEEDS = {"turn", "session", "subagent", "server"}

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def references(node: Any) -> Iterator[str]:
    """Every `$ref` in `node`, not those behind it."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def reachable(node: Any) -> set[str]:
    """Every `$ref` in `node` and behind it."""
    found: set[str] = set()
    waiting = list(references(node))
    while waiting:
        reference = waiting.pop()
        if reference not in found:
            found.add(reference)
            waiting += references(DOCUMENT.resolve({"$ref": reference}))
    return found


def schemas_behind(node: Any) -> dict[str, Json]:
    """The named schemas that `node` uses, through any number of others."""
    names = {reference_name(ref) for ref in reachable(node) if ref.startswith("#/components/schemas/")}
    return {name: DOCUMENT.schemas[name] for name in sorted(names)}


def objects_in(node: Any, at: str) -> Iterator[tuple[str, Json]]:
    """Every schema of an object that is written out in `node`, with its place."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield at, node
        for key, value in node.items():
            yield from objects_in(value, f"{at}.{key}")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            yield from objects_in(item, f"{at}[{index}]")


def fields_of(name: str) -> dict[str, Json]:
    """The fields of a named object."""
    return every_field(DOCUMENT.schemas[name])


def every_field(schema: Json) -> dict[str, Json]:
    """The fields of an object, those of the schemas that it extends included."""
    parts = [every_field(DOCUMENT.resolve(part)) for part in schema.get("allOf", ())]
    return {name: field for part in (*parts, schema.get("properties", {})) for name, field in part.items()}


def payload_of(event: str) -> str:
    """The name of the event's schema."""
    return reference_name(DOCUMENT.events[event]["schema"]["$ref"])


def bodies() -> list[Json]:
    return [body for operation in OPERATIONS.values() if (body := DOCUMENT.body(operation))]


def parameter_names(operation: Operation) -> set[str]:
    return {parameter["name"] for parameter in DOCUMENT.parameters(operation)}


def answered(operation: Operation) -> set[str]:
    """The media types of the operation's answers."""
    responses = map(DOCUMENT.resolve, operation.spec["responses"].values())
    return {media for response in responses for media in response.get("content", {})}


def problem_statuses(operation: Operation) -> set[int]:
    return {
        int(status)
        for status, response in operation.spec["responses"].items()
        if "application/problem+json" in DOCUMENT.resolve(response).get("content", {})
    }


# The document as a whole


def test_document_is_valid_openapi() -> None:
    assert DOCUMENT.raw["openapi"] == "3.0.3"
    assert [error.message for error in OpenAPIV30SpecValidator(DOCUMENT.raw).iter_errors()] == []


def test_document_loads_in_the_router(caplog: pytest.LogCaptureFixture) -> None:
    named = []

    def handler(name: str) -> Callable[[], None]:
        named.append(name)
        return lambda: None

    resolver = Resolver(handler)
    with caplog.at_level(logging.CRITICAL, "connexion"):
        connexion.FlaskApp(__name__).add_api(DOCUMENT.raw, resolver=resolver, options={"swagger_ui": False})
    controllers = [op.spec["x-openapi-router-controller"] for op in OPERATIONS.values()]
    assert sorted(named) == sorted(
        f"{controller}.{name}" for controller, name in zip(controllers, OPERATIONS, strict=True)
    )


def test_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert DOCUMENT.raw["info"]["version"] == project["version"]


def test_every_component_is_used() -> None:
    used = reachable([DOCUMENT.raw["paths"], DOCUMENT.raw["x-events"]])
    defined = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "responses", "parameters", "headers")
        for name in DOCUMENT.raw["components"][kind]
    }
    assert defined - used == set()


# Operations


@each_operation
def test_operation_has_what_routing_and_reading_need(operation: Operation) -> None:
    spec = operation.spec
    assert spec["x-openapi-router-controller"].startswith("handlers.")
    assert spec["summary"].strip()
    assert spec["description"].strip()
    assert set(spec["tags"]) <= {tag["name"] for tag in DOCUMENT.raw["tags"]}
    assert len(spec["tags"]) == 1


def test_operation_ids_are_unique() -> None:
    assert len(OPERATIONS) == len(list(DOCUMENT.operations()))


@each_operation
def test_operation_lists_its_statuses_with_known_problems(operation: Operation) -> None:
    assert "default" not in operation.spec["responses"]
    assert operation.success
    assert set(operation.problems) == problem_statuses(operation)
    for status, slugs in operation.problems.items():
        assert slugs, f"{status} has no problem"
        for slug in slugs:
            assert status in DOCUMENT.problems[slug]["statuses"], f"{slug} is never a {status}"


def can_be_malformed(parameter: Json) -> bool:
    """Whether there are values of the path or the query that the parameter cannot take: a name takes any."""
    return parameter["in"] in {"path", "query"} and parameter["schema"] != {"type": "string"}


@each_operation
def test_operation_lists_the_statuses_that_its_kind_can_answer(operation: Operation) -> None:
    expected = {500}
    if operation.scopes is not None:
        expected |= {401, 403}
    if DOCUMENT.body(operation) is not None:
        expected |= {413, 415, 422}
    if any(map(can_be_malformed, DOCUMENT.parameters(operation))):
        expected |= {400}
    assert expected <= set(operation.problems)


@each_operation
def test_operation_asks_for_known_scopes_or_for_no_token(operation: Operation) -> None:
    scopes = operation.scopes
    if scopes is None:
        assert operation.spec["security"] == []
        return
    assert "security" not in operation.spec
    ((mode, names),) = scopes.items()
    assert mode in {"all", "any"}
    assert names
    assert set(names) <= set(DOCUMENT.scopes)


def test_discovery_admits_any_read_scope() -> None:
    chosen = [op.scopes["any"] for op in OPERATIONS.values() if op.scopes and "any" in op.scopes]
    assert chosen
    assert all(sorted(scopes) == sorted(read_scopes(DOCUMENT)) for scopes in chosen)


@each_operation
def test_operation_has_a_parameter_for_every_name_in_its_path(operation: Operation) -> None:
    named = {part[1:-1] for part in operation.path.split("/") if part.startswith("{")}
    parameters = DOCUMENT.parameters(operation)
    assert named == {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
    assert all(parameter["description"] for parameter in parameters)


IDEMPOTENT = [op for op in OPERATIONS.values() if "Idempotency-Key" in parameter_names(op)]
STREAMS = [op for op in OPERATIONS.values() if op.method == "GET" and "text/event-stream" in answered(op)]


@pytest.mark.parametrize("operation", IDEMPOTENT, ids=lambda operation: operation.id)
def test_operation_with_a_key_tells_of_its_conflict_and_of_a_bad_one(operation: Operation) -> None:
    assert "idempotency" in operation.problems[409]
    assert "invalid-body" in operation.problems[422]


@pytest.mark.parametrize("operation", STREAMS, ids=lambda operation: operation.id)
def test_stream_takes_a_position_from_the_header_and_from_the_query(operation: Operation) -> None:
    assert {"Last-Event-ID", "last_event_id"} <= parameter_names(operation)
    assert set(operation.spec["responses"]["200"]["headers"]) == {"Cache-Control", "X-Accel-Buffering"}


def test_operations_of_the_live_conversation_are_found() -> None:
    assert {operation.id for operation in IDEMPOTENT} == {"submit_turn", "post_inbox"}
    assert {operation.id for operation in STREAMS} == {"stream_session", "stream_server"}


# Schemas


def test_request_schemas_refuse_unknown_fields() -> None:
    requests = schemas_behind(bodies())
    opened = [
        place
        for name, schema in requests.items()
        for place, found in objects_in(schema, name)
        if found.get("additionalProperties") is not False
    ]
    assert "TurnRequest" in requests
    assert opened == []


def test_optional_request_fields_may_be_null() -> None:
    def accepts_null(schema: Json) -> bool:
        target = DOCUMENT.resolve(schema)
        null = {"$ref": "#/components/schemas/Null"}
        return bool(target.get("nullable")) or null in target.get("anyOf", ())

    refused = [
        f"{place}.{field}"
        for name, schema in schemas_behind(bodies()).items()
        for place, found in objects_in(schema, name)
        for field, value in found["properties"].items()
        if field not in found.get("required", ()) and not accepts_null(value)
    ]
    assert refused == []


def test_answers_and_events_are_never_null() -> None:
    answers = [operation.spec["responses"] for operation in OPERATIONS.values()]
    used = schemas_behind([answers, DOCUMENT.raw["x-events"]])
    assert "SessionResponse" in used
    assert "Null" not in used
    assert [name for name, schema in used.items() if "nullable" in str(schema)] == []


def test_objects_have_names_of_their_own() -> None:
    """An anonymous object gets a made-up name in generated clients; a part of an allOf is not one."""
    nested = [
        place
        for name, schema in DOCUMENT.schemas.items()
        for place, _ in objects_in(schema, name)
        if place != name and not place.startswith(f"{name}.allOf[")
    ]
    assert nested == []


@pytest.mark.parametrize("name", [name for name, schema in DOCUMENT.schemas.items() if "oneOf" in schema])
def test_discriminator_names_each_choice_by_its_type(name: str) -> None:
    schema = DOCUMENT.schemas[name]
    mapping = schema["discriminator"]["mapping"]
    assert [choice["$ref"] for choice in schema["oneOf"]] == list(mapping.values())
    for value, reference in mapping.items():
        block = DOCUMENT.resolve({"$ref": reference})
        assert block["properties"]["type"]["enum"] == [value]
        assert "type" in block["required"]


def test_content_blocks_are_those_of_the_conversation() -> None:
    described = {
        kind
        for name in ("ContentBlockView", "ToolResultContentView")
        for kind in DOCUMENT.schemas[name]["discriminator"]["mapping"]
    }
    assert described == {block.type for block in get_args(Block)}


@pytest.mark.parametrize("block", get_args(Block), ids=lambda block: block.type)
def test_content_block_shows_nothing_but_fields_of_the_conversations(block: Any) -> None:
    (reference,) = {
        DOCUMENT.schemas[name]["discriminator"]["mapping"][block.type]
        for name in ("ContentBlockView", "ToolResultContentView")
        if block.type in DOCUMENT.schemas[name]["discriminator"]["mapping"]
    }
    shown = set(DOCUMENT.resolve({"$ref": reference})["properties"]) - {"type"}
    assert shown <= {field.name.rstrip("_") for field in dataclasses.fields(block)}


# Problems and events


def test_every_error_of_ours_is_in_the_catalogue() -> None:
    def below(kind: type[MekaError]) -> Iterator[type[MekaError]]:
        yield kind
        for child in kind.__subclasses__():
            yield from below(child)

    assert {kind.slug for kind in below(MekaError)} - set(DOCUMENT.problems) == set()


@pytest.mark.parametrize("slug", DOCUMENT.problems)
def test_problem_says_when_and_what_it_carries(slug: str) -> None:
    kind = DOCUMENT.problems[slug]
    assert kind["title"]
    assert kind["statuses"]
    assert kind["description"]
    assert set(kind["members"]) <= set(DOCUMENT.schemas["ProblemDetail"]["properties"])


@pytest.mark.parametrize("name", DOCUMENT.events)
def test_event_has_a_payload_and_known_feeds(name: str) -> None:
    kind = DOCUMENT.events[name]
    assert set(kind) == {"description", "schema", "numbered", "terminal", "feeds"}
    assert kind["schema"]["$ref"].endswith("Event")
    assert kind["feeds"]
    assert set(kind["feeds"]) <= FEEDS
    assert not (kind["terminal"] and not kind["numbered"])


@pytest.mark.parametrize("name", [name for name, kind in DOCUMENT.events.items() if "turn" in kind["feeds"]])
def test_event_of_a_turn_says_whose_it_is(name: str) -> None:
    assert {"session_id", "turn_id"} <= set(fields_of(payload_of(name)))


def test_server_feed_has_what_changes_a_record_and_nothing_else() -> None:
    carried = {name for name, kind in DOCUMENT.events.items() if "server" in kind["feeds"]}
    assert carried == {
        "session.created", "session.updated", "session.deleted",
        "turn.started", "turn.finished", "turn.failed", "turn.canceled",
        "permission_required", "permission_resolved", "feed.gap",
    }  # fmt: skip


def test_no_event_of_a_sub_agents_feed_is_of_an_inbox_or_of_tasks() -> None:
    carried = {name for name, kind in DOCUMENT.events.items() if "subagent" in kind["feeds"]}
    assert not [name for name in carried if name.startswith(("inbox.", "task.", "session."))]


@pytest.mark.parametrize("name", ["session.created", "session.updated"])
def test_event_of_a_record_has_its_members_beside_the_session_id(name: str) -> None:
    assert set(fields_of(payload_of(name))) == set(fields_of("SessionResponse")) | {"session_id", "turn_id"}


# Reference pages


@pytest.mark.parametrize(
    ("page", "headings"),
    [
        ("operations", [f"### `{op.method} {op.path}`" for op in OPERATIONS.values()]),
        ("problems", [f"## `{slug}`" for slug in DOCUMENT.problems]),
        ("events", [f"## `{name}`" for name in DOCUMENT.events]),
        ("scopes", [f"## `{scope}`" for scope in DOCUMENT.scopes]),
        ("schemas", [f"## {name}" for name in DOCUMENT.schemas]),
    ],
)
def test_reference_page_has_a_heading_for_each(page: str, headings: list[str]) -> None:
    lines = (ROOT / "docs/reference" / f"{page}.md").read_text("utf-8").splitlines()
    assert set(headings) <= set(lines)


LINKED = {operation.id: operation for operation in OPERATIONS.values() if DOCUMENT.links(operation)}


@pytest.mark.parametrize("operation", LINKED.values(), ids=LINKED)
def test_links_lead_to_operations_with_what_their_answers_hold(operation: Operation) -> None:
    for status in map(str, operation.success):
        response = operation.spec["responses"][status]
        shape = response.get("content", {}).get("application/json", {}).get("schema", {})
        given = {parameter["name"] for parameter in DOCUMENT.parameters(operation)}
        for link in map(DOCUMENT.resolve, response.get("links", {}).values()):
            target = OPERATIONS[link["operationId"]]
            wanted = {parameter["name"]: parameter for parameter in DOCUMENT.parameters(target)}
            filled = link.get("parameters", {})
            assert filled.keys() <= wanted.keys()
            assert {name for name, each in wanted.items() if each["in"] == "path"} <= filled.keys()
            body = link.get("requestBody", {})
            values = body.values() if isinstance(body, dict) else [body]
            for expression in (*filled.values(), *values):
                assert is_there(expression, shape, given, response.get("headers", {})), expression


def is_there(expression: str, shape: Json, parameters: set[str], headers: Json) -> bool:
    """Whether an answer of this shape, to a request with these parameters, has what a link takes."""
    source, _, name = expression.partition("#/")
    if source != "$response.body":
        kind, _, named = source.rpartition(".")
        known = {"$request.path": parameters, "$request.query": parameters, "$response.header": headers}
        return named in known[kind]
    for step in name.split("/") if name else ():
        shape = DOCUMENT.resolve(shape)
        shape = shape["items"] if step.isdigit() else every_field(shape).get(step, {})
    return bool(shape)

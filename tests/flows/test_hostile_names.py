"""Names that point elsewhere, in every place of every request that takes a text: nothing outside is touched.

The places come from the document, so that a new parameter or field is covered by itself.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.contract.checking import the_contract
from tests.serving import TOKEN, Client, Server, say

DOCUMENT = the_contract().document.raw
SCOPES = ("sessions", "skills", "memory", "schedule", "mcp", "config")
CANARY = "what stands outside"
TOKENS = f"""
[[serve.tokens]]
token = "all-{TOKEN}"
scopes = {json.dumps([f"{scope}:{access}" for scope in SCOPES for access in "rw"])}
"""
STREAMS = ("stream_session", "stream_server")
METHODS = ("get", "put", "post", "patch", "delete")

Slot = tuple[str, ...]


def resolved(node: Any) -> Any:
    while isinstance(node, Mapping) and "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def branches(schema: Any) -> Iterator[Any]:
    schema = resolved(schema)
    yield schema
    for word in ("anyOf", "oneOf", "allOf"):
        for branch in schema.get(word, ()):
            yield from branches(branch)


def text_slots(schema: Any, before: Slot = ()) -> Iterator[Slot]:
    """The places of a body that take a text that is not one of a list."""
    for branch in branches(schema):
        if branch.get("type") == "string" and "enum" not in branch:
            yield before
        if branch.get("type") == "array":
            yield from text_slots(branch["items"], (*before, "[]"))
        for name, field in branch.get("properties", {}).items():
            yield from text_slots(field, (*before, name))
        if branch.get("additionalProperties") is True:
            yield (*before, "anything")


def least(schema: Any) -> Any:
    """The least value that a schema takes."""
    for branch in branches(schema):
        if "enum" in branch:
            return branch["enum"][0]
        match branch.get("type"):
            case "object":
                return {name: least(branch["properties"][name]) for name in branch.get("required", ())}
            case "string":
                return "x"
            case "integer":
                return 1
            case "array":
                return []
    return None


def filled(value: Any, slot: Slot, text: str) -> Any:
    if not slot:
        return text
    step, *rest = slot
    if step == "[]":
        return [filled({}, tuple(rest), text)]
    held = dict(value) if isinstance(value, dict) else {}
    return held | {step: filled(held.get(step), tuple(rest), text)}


def requests_with(text: str, ids: Mapping[str, str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """One request for each place of each operation, with `text` there and something sound elsewhere."""
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield from _requests_of(method, path, item, item[method], text, ids)


def _requests_of(
    method: str, path: str, item: Any, operation: Any, text: str, ids: Mapping[str, str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    parameters = [resolved(each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    body = resolved(operation.get("requestBody", {})).get("content", {}).get("application/json")
    sound: dict[str, Any] = {"json": least(body["schema"])} if body else {}
    names = {each["name"] for each in parameters if each["in"] == "path"}
    plain = path.format(**{name: ids.get(name, "x") for name in names})
    for each in parameters:
        match each["in"]:
            case "path":
                others = {name: ids.get(name, "x") for name in names}
                yield method, path.format(**(others | {each["name"]: quote(text, safe="")})), sound
                yield method, path.format(**(others | {each["name"]: quote(text)})), sound
            case "query":
                yield method, plain, sound | {"params": {each["name"]: text}}
            case "header" if text.isprintable():
                yield method, plain, sound | {"headers": {each["name"]: text.encode()}}
    for slot in set(text_slots(body["schema"])) if body else ():
        yield method, plain, {"json": filled(sound["json"], slot, text)}


def names_elsewhere(root: Path) -> list[str]:
    outside = root / "canary.txt"
    return [
        "..", "../../canary.txt", "../" * 12 + str(outside).lstrip("/"), str(outside), f"file://{outside}",
        "..\\..\\canary.txt", "%2e%2e%2fcanary.txt", "....//....//canary.txt", "~/canary.txt", "a\x00/../b",
        "canary.txt\n../..",
    ]  # fmt: skip


def everything_below(root: Path) -> dict[str, tuple[float, int]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mtime, path.lstat().st_size)
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Client]]:
    root = tmp_path_factory.mktemp("names")
    (root / "canary.txt").write_text(CANARY)
    with Server(root / "inner", [say("ok")] * 2000, more=TOKENS) as server:
        client = server.client(f"all-{TOKEN}")
        yield root, client
        assert not any("Traceback" in line for line in server.log), "".join(server.log)[-3000:]
        client.http.close()


def outside_of(root: Path) -> dict[str, tuple[float, int]]:
    found = everything_below(root)
    own = tuple(f"inner/{name}" for name in ("data/", "config/"))
    return {name: facts for name, facts in found.items() if not name.startswith(own)}


def check_answer(client: Client, method: str, path: str, options: dict[str, Any]) -> None:
    with client.call(method.upper(), path, stream=True, **options) as answer:
        what = (method, path, options, answer.status_code)
        assert answer.status_code < 500, what
        if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            return
        assert CANARY.encode() not in answer.content, what
        if answer.status_code >= 400:
            assert answer.headers["Content-Type"] == "application/problem+json", what
            assert answer.json()["detail"], what


def check_names(place: tuple[Path, Client], names: Sequence[str]) -> None:
    root, client = place
    before = outside_of(root)
    sent = 0
    for text in names:
        ids = {"id": client.session()}
        for method, path, options in requests_with(text, ids):
            check_answer(client, method, path, options)
            sent += 1
    assert sent > 90 * len(names)
    assert outside_of(root) == before
    owned = [name for name in everything_below(root) if name.startswith("inner/")]
    assert not any("canary" in name or ".." in name for name in owned), owned


def test_name_that_points_elsewhere_is_refused_or_plain_text(place: tuple[Path, Client]) -> None:
    check_names(place, names_elsewhere(place[0])[:3])


@pytest.mark.soak
def test_name_that_points_elsewhere_in_any_way_is_refused_or_plain_text(place: tuple[Path, Client]) -> None:
    check_names(place, names_elsewhere(place[0]))


def test_archive_whose_names_point_elsewhere_is_refused_or_plain_text(place: tuple[Path, Client]) -> None:
    root, client = place
    session = client.session()
    assert client.turn(session).status_code == 200
    archive = client.call("GET", f"/v1/sessions/{session}/export", params={"format": "json"}).json()
    before = outside_of(root)
    entry = {"created_at": archive["sessions"][0]["created_at"], "content": "x"}
    for text in names_elsewhere(root):
        for changed in (
            {"scratchpad": [{"name": text, **entry}]},
            *({name: text} for name, value in archive["sessions"][0].items() if isinstance(value, str)),
            {"images": [text]},
        ):
            document = archive | {"sessions": [archive["sessions"][0] | changed]}
            check_answer(client, "post", "/v1/sessions/import", {"json": document})
        document = archive | {"images": {text: {"media_type": "image/png", "data": "QUJD"}}}
        check_answer(client, "post", "/v1/sessions/import", {"json": document})
    assert outside_of(root) == before

from pathlib import Path

import pytest

from tests.unit.codegen.documents import whole_document
from tools.codegen.document import Document, DocumentError, load, render


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "openapi.yaml"
    path.write_text(text, "utf-8")
    return path


def test_load_makes_every_key_text(tmp_path: Path) -> None:
    document = load(written(tmp_path, "responses: {200: [{404: x}]}"))
    assert document.raw == {"responses": {"200": [{"404": "x"}]}}


def test_load_refuses_a_key_that_stands_twice(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"(?s)openapi\.yaml: 'get' twice.*line 3"):
        load(written(tmp_path, "path:\n  get: 1\n  get: 2\n"))


@pytest.mark.parametrize("text", ["a: [", "", "- a", "words"])
def test_load_refuses_what_is_no_mapping(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentError, match=r"openapi\.yaml"):
        load(written(tmp_path, text))


def test_load_follows_anchors(tmp_path: Path) -> None:
    document = load(written(tmp_path, "a: &shared {x: 1}\nb: *shared"))
    assert document.raw["b"] == {"x": 1}


def test_operations_come_with_their_paths_parameters_first() -> None:
    document = whole_document()
    operation = next(document.operations())
    assert (operation.method, operation.path) == ("POST", "/v1/sessions/{id}/turn")
    assert [parameter["name"] for parameter in document.parameters(operation)] == ["id", "limit"]


def test_operation_tells_success_from_problems() -> None:
    operation = next(whole_document().operations())
    assert operation.success == (200,)
    assert operation.problems == {409: ("busy",)}


def test_resolve_follows_a_chain_of_references() -> None:
    document = Document({"a": {"$ref": "#/b"}, "b": {"$ref": "#/c/d"}, "c": {"d": {"x": 1}}})
    assert document.resolve({"$ref": "#/a"}) == {"x": 1}


def test_resolve_names_a_reference_to_nothing() -> None:
    with pytest.raises(DocumentError, match="#/components/schemas/Absent references nothing"):
        whole_document().resolve({"$ref": "#/components/schemas/Absent"})


def test_render_is_compact_and_keeps_our_own_members() -> None:
    assert render(Document({"x-a": {"b": ["ü"]}})) == '{"x-a":{"b":["ü"]}}\n'

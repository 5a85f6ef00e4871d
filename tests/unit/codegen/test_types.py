import typing
from types import ModuleType
from typing import Any

import pytest

from tests.unit.codegen.documents import document_of
from tools.codegen import types
from tools.codegen.document import DocumentError


def generated(**schemas: dict[str, Any]) -> ModuleType:
    """The generated module, as a program would import it."""
    module = ModuleType("generated")
    exec(types.render(document_of(**schemas)), module.__dict__)
    return module


def fields(typed_dict: Any) -> dict[str, Any]:
    return typing.get_type_hints(typed_dict, include_extras=True)


def test_object_becomes_a_typed_dict_with_optional_fields_not_required() -> None:
    view = generated(
        View={
            "type": "object",
            "description": "A view.",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        }
    ).View
    assert view.__doc__ == "A view."
    assert view.__required_keys__ == {"name"}
    assert view.__optional_keys__ == {"size"}
    assert fields(view) == {"name": str, "size": typing.NotRequired[int]}


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "format": "uuid"}, str),
        ({"type": "integer"}, int),
        ({"type": "number"}, float),
        ({"type": "boolean", "nullable": True}, bool | None),
        ({"type": "array", "items": {"type": "string"}}, list[str]),
        ({"type": "object"}, dict[str, Any]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, dict[str, int]),
        ({"type": "string", "enum": ["a", 'b"']}, typing.Literal["a", 'b"']),
        ({"enum": [None]}, None),
        ({}, Any),
    ],
)
def test_alias_has_the_python_type_of_its_schema(schema: dict[str, Any], kind: Any) -> None:
    assert generated(Kind=schema).Kind == kind


def test_choice_becomes_a_union_of_names_defined_before_it() -> None:
    reference = {"$ref": "#/components/schemas/B"}
    module = generated(A={"anyOf": [reference, {"type": "string"}]}, B={"type": "integer"})
    assert set(typing.get_args(module.A)) == {int, str}


def test_all_of_becomes_inheritance() -> None:
    module = generated(
        Child={
            "allOf": [
                {"$ref": "#/components/schemas/Parent"},
                {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}},
            ]
        },
        Parent={"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
    )
    assert module.Child.__required_keys__ == {"a", "b"}


def test_key_that_python_cannot_spell_makes_the_whole_type_functional() -> None:
    module = generated(
        Base={"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
        Detail={
            "allOf": [
                {"$ref": "#/components/schemas/Base"},
                {"type": "object", "properties": {"class": {"type": "string"}, "allowed-tools": {}}},
            ]
        },
    )
    assert module.Detail.__required_keys__ == {"a"}
    assert module.Detail.__optional_keys__ == {"class", "allowed-tools"}


def test_nullable_object_may_be_none_where_it_is_used() -> None:
    module = generated(
        Request={"type": "object", "properties": {"options": {"$ref": "#/components/schemas/Options"}}},
        Options={"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
    )
    assert fields(module.Request)["options"] == typing.NotRequired[module.Options | None]


def test_anonymous_object_is_refused() -> None:
    inline = {"type": "object", "properties": {"x": {"type": "string"}}}
    with pytest.raises(DocumentError, match=r"properties \['x'\] needs a name"):
        types.render(document_of(A={"type": "object", "properties": {"a": inline}}))


def test_circle_of_references_is_refused_with_its_names() -> None:
    loop = {"type": "array", "items": {"$ref": "#/components/schemas/B"}}
    back = {"type": "array", "items": {"$ref": "#/components/schemas/A"}}
    with pytest.raises(DocumentError, match="A -> B -> A"):
        types.render(document_of(A=loop, B=back))


def test_reference_to_nothing_is_refused_with_its_place() -> None:
    with pytest.raises(DocumentError, match="A -> Absent: there is no such schema"):
        types.render(document_of(A={"type": "array", "items": {"$ref": "#/components/schemas/Absent"}}))

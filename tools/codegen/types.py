"""Python types of the document's schemas: a TypedDict an object, a Literal an enum, a union a oneOf."""

from collections.abc import Iterator
from keyword import iskeyword
from typing import Any

from tools.codegen.document import Document, DocumentError, Json, reference_name
from tools.codegen.python import HEADER, string

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_IMPORTS = "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"


def render(document: Document) -> str:
    """The module `meka.schema.types`."""
    blocks = [_definition(document, name) for name in _in_order(document)]
    return HEADER + "\n" + _IMPORTS + "\n\n" + "\n\n".join(blocks)


def references(node: Any) -> Iterator[str]:
    """The names of the schemas that `node` references, itself."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield reference_name(node["$ref"])
        yield from (
            name for key, value in node.items() if key != "discriminator" for name in references(value)
        )
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def _in_order(document: Document) -> list[str]:
    """The names, each after what it references, otherwise as in the document."""
    placed: dict[str, None] = {}

    def place(name: str, trail: tuple[str, ...]) -> None:
        if name not in document.schemas:
            raise DocumentError(f"{' -> '.join((*trail, name))}: there is no such schema")
        if name in trail:
            raise DocumentError(f"schemas reference each other in a circle: {' -> '.join((*trail, name))}")
        for needed in references(document.schemas[name]):
            if needed not in placed:
                place(needed, (*trail, name))
        placed[name] = None

    for name in document.schemas:
        place(name, ())
    return list(placed)


def _definition(document: Document, name: str) -> str:
    schema = document.schemas[name]
    if _is_object(schema):
        return _typed_dict(document, name, schema)
    return f"{name}: TypeAlias = {annotation(document, schema)}\n{_docstring(schema)}"


def _typed_dict(document: Document, name: str, schema: Json) -> str:
    fields = _own_fields(document, schema)
    if all(_is_plain(field) for field in fields):
        return _class(name, schema, fields)
    return _functional(name, schema, _all_fields(document, schema))


def _class(name: str, schema: Json, fields: dict[str, str]) -> str:
    bases = [reference_name(part["$ref"]) for part in schema.get("allOf", ()) if "$ref" in part]
    lines = [f"    {field}: {kind}\n" for field, kind in fields.items()]
    doc = _docstring(schema, "    ")
    body = doc + ("\n" if doc and lines else "") + "".join(lines) or "    pass\n"
    return f"class {name}({', '.join(bases) or 'TypedDict'}):\n{body}"


def _functional(name: str, schema: Json, fields: dict[str, str]) -> str:
    """A class cannot hold a key that is a keyword of Python or no identifier at all."""
    lines = "".join(f"        {string(field)}: {kind},\n" for field, kind in fields.items())
    return f"{name} = TypedDict(\n    {string(name)},\n    {{\n{lines}    }},\n)\n{_docstring(schema)}"


def _own_fields(document: Document, schema: Json) -> dict[str, str]:
    """The annotations of the fields that the schema itself states."""
    fields = {}
    for part in (schema, *schema.get("allOf", ())):
        required = part.get("required", ())
        for name, value in part.get("properties", {}).items():
            kind = annotation(document, value)
            fields[name] = kind if name in required else f"NotRequired[{kind}]"
    return fields


def _all_fields(document: Document, schema: Json) -> dict[str, str]:
    """`_own_fields`, with those of the schemas that it extends before them."""
    fields: dict[str, str] = {}
    for part in schema.get("allOf", ()):
        if "$ref" in part:
            fields |= _all_fields(document, document.resolve(part))
    return fields | _own_fields(document, schema)


def annotation(document: Document, schema: Json) -> str:
    """The Python type of a value of `schema`."""
    if "$ref" in schema:
        name = reference_name(schema["$ref"])
        target = document.resolve(schema)
        return f"{name} | None" if target.get("nullable") and _is_object(target) else name
    if choices := schema.get("oneOf", schema.get("anyOf")):
        return " | ".join(annotation(document, choice) for choice in choices)
    kind = _plain_annotation(document, schema)
    return f"{kind} | None" if schema.get("nullable") else kind


def _plain_annotation(document: Document, schema: Json) -> str:
    if "enum" in schema:
        return _literal(schema["enum"])
    if schema.get("type") == "array":
        return f"list[{annotation(document, schema['items'])}]"
    if schema.get("type") == "object":
        if "properties" in schema:
            raise DocumentError(f"an object with properties {sorted(schema['properties'])} needs a name")
        values = schema.get("additionalProperties")
        return f"dict[str, {annotation(document, values) if isinstance(values, dict) else 'Any'}]"
    return _SCALARS.get(schema.get("type", ""), "Any")


def _literal(choices: list[str | None]) -> str:
    texts = [string(choice) for choice in choices if choice is not None]
    return f"Literal[{', '.join(texts)}]" if texts else "None"


def _is_object(schema: Json) -> bool:
    """Whether the schema's type is a TypedDict; one that may be null has None added where it is used."""
    return "allOf" in schema or "properties" in schema


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def _docstring(schema: Json, indent: str = "") -> str:
    text = " ".join(schema.get("description", "").split())
    return f'{indent}"""{text}"""\n' if text else ""

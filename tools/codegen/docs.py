"""The reference pages of the document: `docs/reference/*.md`."""

import json
from collections.abc import Iterable

from tools.codegen.document import Document, Json, Operation, reference_name

_NOTE = "<!-- Generated from openapi.yaml by tools/codegen; edit the document, then run `make gen`. -->\n"


def render(document: Document) -> dict[str, str]:
    """The pages, by file name."""
    return {
        "operations.md": operations_page(document),
        "schemas.md": schemas_page(document),
        "problems.md": problems_page(document),
        "events.md": events_page(document),
        "scopes.md": scopes_page(document),
    }


def operations_page(document: Document) -> str:
    """Every operation, under its tag."""
    sections = []
    for tag in document.raw["tags"]:
        sections.append(f"## {tag['name'].capitalize()}\n\n{tag['description']}\n")
        sections += [
            _operation(document, operation)
            for operation in document.operations()
            if tag["name"] in operation.spec["tags"]
        ]
    return _page("Operations", "What the server answers, and what with.", sections)


def schemas_page(document: Document) -> str:
    """Every named schema."""
    intro = "The shapes of bodies and events. A value that is not there is left out, never null."
    sections = [_schema(document, name, schema) for name, schema in document.schemas.items()]
    return _page("Schemas", intro, sections)


def problems_page(document: Document) -> str:
    """Every kind of problem, with the operations that answer it."""
    intro = (
        "An error is an `application/problem+json` body. Its `type` is `https://meka.run/errors/` and one of "
        "the names below; branch on that."
    )
    return _page("Problems", intro, [_problem(document, slug) for slug in document.problems])


def events_page(document: Document) -> str:
    """Every event, with its payload."""
    intro = (
        "Server-sent events have a name and JSON data. A numbered event has an `id` and is replayed to a "
        "reader that comes back with it; a terminal event is the last of its turn."
    )
    return _page("Events", intro, [_event(document, name, kind) for name, kind in document.events.items()])


def scopes_page(document: Document) -> str:
    """Every scope, with the operations that ask for it."""
    intro = "A token holds scopes. No scope implies another."
    return _page("Scopes", intro, [_scope(document, scope) for scope in document.scopes])


def _operation(document: Document, operation: Operation) -> str:
    spec = operation.spec
    parts = [
        f"### `{operation.method} {operation.path}`\n",
        f"{spec['summary']} (`{operation.id}`). {_line(spec['description'])}\n",
        f"Scope: {_scopes_sentence(operation)}.\n",
        _parameters(document, operation),
        _body_sentence(document, operation),
        _responses(document, operation),
        _links_sentence(document, operation),
    ]
    return "\n".join(part for part in parts if part)


def _scopes_sentence(operation: Operation) -> str:
    scopes = operation.scopes
    if scopes is None:
        return "none, no token is asked for"
    (mode, names), *_ = scopes.items()
    links = ", ".join(_link("scopes", name) for name in names)
    return f"any of {links}" if mode == "any" else links


def _parameters(document: Document, operation: Operation) -> str:
    rows = [
        (f"`{parameter['name']}`", parameter["in"], _parameter_kind(parameter), parameter["description"])
        for parameter in document.parameters(operation)
    ]
    return _table(("Parameter", "In", "Type", "Meaning"), rows) if rows else ""


def _parameter_kind(parameter: Json) -> str:
    schema = parameter["schema"]
    default = f", default {json.dumps(schema['default'])}" if "default" in schema else ""
    return _kind(schema) + default


def _body_sentence(document: Document, operation: Operation) -> str:
    body = document.body(operation)
    if body is None:
        return ""
    shapes = ", ".join(_kind(media["schema"]) for media in body["content"].values())
    return f"Body: {shapes}{'' if body.get('required') else ' (may be left out)'}.\n"


def _responses(document: Document, operation: Operation) -> str:
    rows = []
    for status, response in operation.spec["responses"].items():
        slugs = operation.problems.get(int(status), ())
        links = ", ".join(_link("problems", slug) for slug in slugs)
        rows.append((status, _content(document.resolve(response)), links))
    return _table(("Status", "Body", "Problems"), rows)


def _links_sentence(document: Document, operation: Operation) -> str:
    named = dict.fromkeys(link["operationId"] for link in document.links(operation))
    targets = [each for each in document.operations() if each.id in named]
    return f"Links to: {_operation_links(targets)}.\n" if targets else ""


def _content(response: Json) -> str:
    return ", ".join(
        f"{_kind(media['schema'])}{'' if kind == 'application/json' else f' as `{kind}`'}"
        for kind, media in response.get("content", {}).items()
        if kind != "application/problem+json"
    )


def _schema(document: Document, name: str, schema: Json) -> str:
    text = f"## {name}\n"
    if "description" in schema:
        text += f"\n{_line(schema['description'])}\n"
    return text + "\n" + _schema_body(document, schema)


def _schema_body(document: Document, schema: Json) -> str:
    rows = _field_rows(document, schema)
    if rows:
        return _table(("Field", "Type", "Required", "Meaning"), rows)
    return f"{_capitalized(_kind(schema))}.\n"


def _field_rows(document: Document, schema: Json) -> list[tuple[str, ...]]:
    rows = []
    for part in schema.get("allOf", ()):
        rows += _field_rows(document, document.resolve(part))
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        always = "yes" if name in required else ""
        rows.append((f"`{name}`", _kind(value), always, value.get("description", "")))
    return rows


def _problem(document: Document, slug: str) -> str:
    kind = document.problems[slug]
    users = [op for op in document.operations() if any(slug in slugs for slugs in op.problems.values())]
    rows = [
        ("Title", kind["title"]),
        ("Status", ", ".join(str(status) for status in kind["statuses"])),
        ("Further members", ", ".join(f"`{member}`" for member in kind["members"]) or "none"),
        ("Answered by", _operation_links(users) or "no operation of its own"),
    ]
    return f"## `{slug}`\n\n{_line(kind['description'])}\n\n" + _table(("", ""), rows)


def _event(document: Document, name: str, kind: Json) -> str:
    flags = [word for word in ("numbered", "terminal") if kind[word]]
    facts = f"{_capitalized(', '.join(flags) or 'not numbered')}; feeds: {', '.join(kind['feeds'])}.\n"
    payload = _table(
        ("Field", "Type", "Required", "Meaning"), _field_rows(document, document.resolve(kind["schema"]))
    )
    return f"## `{name}`\n\n{_line(kind['description'])} {facts}\n{payload}"


def _scope(document: Document, scope: str) -> str:
    users = [
        op for op in document.operations() if any(scope in names for names in (op.scopes or {}).values())
    ]
    links = _operation_links(users) or "no operation of this version"
    return f"## `{scope}`\n\n{_line(document.scopes[scope]['description'])}\n\nAsked for by: {links}.\n"


def _operation_links(operations: Iterable[Operation]) -> str:
    return ", ".join(f"[`{op.id}`](operations.md#{_anchor(f'{op.method} {op.path}')})" for op in operations)


def _kind(schema: Json) -> str:
    """A type in words, named schemas linked."""
    if "$ref" in schema:
        name = reference_name(schema["$ref"])
        return f"[{name}](schemas.md#{_anchor(name)})"
    if choices := schema.get("oneOf", schema.get("anyOf")):
        return " or ".join(_kind(choice) for choice in choices)
    if "enum" in schema:
        return " or ".join(f"`{'null' if choice is None else choice}`" for choice in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_kind(schema['items'])}"
    return str(schema.get("format", schema.get("type", "any value")))


def _link(page: str, name: str) -> str:
    return f"[`{name}`]({page}.md#{_anchor(name)})"


def _anchor(heading: str) -> str:
    """The fragment that a heading has on the usual hosts of Markdown."""
    kept = "".join(ch for ch in heading.lower() if ch.isalnum() or ch in " -_")
    return kept.replace(" ", "-")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    return " ".join(text.split())


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _page(title: str, intro: str, sections: Iterable[str]) -> str:
    return "\n".join([_NOTE, f"# {title}\n", f"{intro}\n", *sections])

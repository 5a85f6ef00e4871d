"""The document as the generators read it: plain JSON values, and the few ways of walking them."""

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class DocumentError(Exception):
    """What is wrong with the document, in a sentence that names the place."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with its path; `spec` is its object, its references unresolved."""

    path: str
    method: str
    spec: Json
    shared_parameters: tuple[Json, ...]

    @property
    def id(self) -> str:
        """The operationId."""
        return str(self.spec["operationId"])

    @property
    def scopes(self) -> Mapping[str, list[str]] | None:
        """`all` or `any` with the scopes, None where no token is asked for."""
        return self.spec.get("x-scopes")

    @property
    def success(self) -> tuple[int, ...]:
        """The 2xx statuses."""
        return tuple(int(status) for status in self.spec["responses"] if status.startswith("2"))

    @property
    def problems(self) -> dict[int, tuple[str, ...]]:
        """The slugs of the problems by status."""
        return {int(status): tuple(slugs) for status, slugs in self.spec.get("x-problems", {}).items()}


@dataclass(frozen=True, slots=True)
class Document:
    """`openapi.yaml`, parsed."""

    raw: Json

    @property
    def schemas(self) -> Mapping[str, Json]:
        """The named schemas, as they stand in the document."""
        return self.raw["components"]["schemas"]  # type: ignore[no-any-return]

    @property
    def events(self) -> Mapping[str, Json]:
        """The events by name."""
        return self.raw["x-events"]  # type: ignore[no-any-return]

    @property
    def problems(self) -> Mapping[str, Json]:
        """The kinds of problems by slug."""
        return self.raw["x-problems-catalogue"]  # type: ignore[no-any-return]

    @property
    def scopes(self) -> Mapping[str, Json]:
        """The scopes by name."""
        return self.raw["x-scopes-catalogue"]  # type: ignore[no-any-return]

    def operations(self) -> Iterator[Operation]:
        """Every operation, in the document's order."""
        for path, item in self.raw["paths"].items():
            shared = tuple(item.get("parameters", ()))
            for method in METHODS:
                if method in item:
                    yield Operation(path, method.upper(), item[method], shared)

    def resolve(self, node: Json) -> Json:
        """`node`, or what it references. Raises: DocumentError for a reference to nothing."""
        while "$ref" in node:
            node = self._target(node["$ref"])
        return node

    def parameters(self, operation: Operation) -> list[Json]:
        """The operation's parameters, the path's first."""
        own = operation.spec.get("parameters", ())
        return [self.resolve(parameter) for parameter in (*operation.shared_parameters, *own)]

    def body(self, operation: Operation) -> Json | None:
        """The operation's request body."""
        body = operation.spec.get("requestBody")
        return None if body is None else self.resolve(body)

    def links(self, operation: Operation) -> list[Json]:
        """Where the operation's answers lead, in their order."""
        responses = map(self.resolve, operation.spec["responses"].values())
        return [self.resolve(link) for each in responses for link in each.get("links", {}).values()]

    def _target(self, reference: str) -> Json:
        node: Any = self.raw
        for step in reference.removeprefix("#/").split("/"):
            if not isinstance(node, dict) or step not in node:
                raise DocumentError(f"{reference} references nothing")
            node = node[step]
        return node  # type: ignore[no-any-return]


def reference_name(reference: str) -> str:
    """The component's name in `#/components/<kind>/<name>`."""
    return reference.rsplit("/", 1)[1]


def render(document: Document) -> str:
    """The document as the server loads and publishes it."""
    return json.dumps(document.raw, ensure_ascii=False, separators=(",", ":")) + "\n"


def load(path: Path) -> Document:
    """Read the document. Raises: DocumentError when it is no YAML mapping, or says a key twice."""
    try:
        raw = yaml.load(path.read_text("utf-8"), _Loader)
    except yaml.YAMLError as error:
        raise DocumentError(f"{path.name}: {error}") from error
    if not isinstance(raw, dict):
        raise DocumentError(f"{path.name}: not a mapping")
    return Document(_with_text_keys(raw))


def _with_text_keys(node: Any) -> Any:
    if isinstance(node, dict):
        return {str(key): _with_text_keys(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_text_keys(item) for item in node]
    return node


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping, where plain YAML keeps the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"'{key}' twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

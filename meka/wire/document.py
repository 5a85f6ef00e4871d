"""The OpenAPI document as the wire reads it: its operations, and the copy that Connexion is given."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from meka.wire.json_reader import MAX_DEPTH

_METHODS = ("get", "put", "post", "delete", "patch")

# What `<what>` is in "invalid <what> request body", where the document gives no x-body-name.
_BODY_NAMES = {
    "submit_turn": "turn",
    "create_session": "session creation",
    "patch_session": "session patch",
    "cancel_turn": "cancel",
    "post_inbox": "inbox",
    "answer_request": "response",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the document."""

    id: str
    method: str
    path: str
    controller: str
    definition: Mapping[str, Any]

    @property
    def handler(self) -> str:
        """The dotted name of its function."""
        return f"{self.controller}.{self.id}"

    @property
    def body_name(self) -> str:
        """What its body is called in details."""
        given = self.definition.get("requestBody", {}).get("x-body-name")
        return str(given or _BODY_NAMES.get(self.id) or self.id.replace("_", " "))

    @property
    def body_depth(self) -> int:
        """How deep its body may nest."""
        return int(self.definition.get("requestBody", {}).get("x-max-depth", MAX_DEPTH))

    @property
    def body_density(self) -> int:
        """How many values each KiB of its body may hold; 0 where a number bounds the whole."""
        return int(self.definition.get("requestBody", {}).get("x-values-a-kibibyte", 0))


def operations_of(document: Mapping[str, Any]) -> Iterator[Operation]:
    """Every operation of the document. Raises: `KeyError` for one without an id or a controller."""
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                definition = item[method]
                yield Operation(
                    definition["operationId"],
                    method.upper(),
                    path,
                    definition["x-openapi-router-controller"],
                    definition,
                )


def connexion_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A copy for Connexion: without security, which our own guard checks ahead of it, and without the body
    names, which it would take for names of arguments."""
    ours = copy.deepcopy(dict(document))
    ours.pop("security", None)
    for operation in operations_of(ours):
        definition: Any = operation.definition
        definition.pop("security", None)
        if "$ref" not in definition.get("requestBody", {}):
            definition.get("requestBody", {}).pop("x-body-name", None)
    return ours

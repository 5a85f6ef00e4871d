"""Small documents for the generators to read."""

from typing import Any

from tools.codegen.document import Document


def document_of(**schemas: dict[str, Any]) -> Document:
    """A document with these schemas and nothing else."""
    return Document({"paths": {}, "components": {"schemas": schemas}})


def whole_document() -> Document:
    """A document with one of everything: an operation, a parameter, a problem, an event, a scope."""
    operation = {
        "operationId": "submit_turn",
        "tags": ["turns"],
        "summary": "Run a turn",
        "description": "Runs it.",
        "x-scopes": {"all": ["sessions:w"]},
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Body")}}},
        "parameters": [
            {
                "name": "limit",
                "in": "query",
                "schema": {"type": "integer", "default": 5},
                "description": "How many.",
            }
        ],
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": _ref("Body")}}},
            "409": {"$ref": "#/components/responses/Conflict"},
        },
        "x-problems": {"409": ["busy"]},
    }
    path = {"parameters": [{"$ref": "#/components/parameters/Id"}], "post": operation}
    return Document(
        {
            "tags": [{"name": "turns", "description": "Turns."}],
            "paths": {"/v1/sessions/{id}/turn": path, "/v1/live": {"get": _open_operation()}},
            "components": {
                "parameters": {
                    "Id": {
                        "name": "id",
                        "in": "path",
                        "schema": {"type": "string", "format": "uuid"},
                        "description": "The session.",
                    }
                },
                "responses": {"Conflict": {"description": "Busy.", "content": {}}},
                "schemas": {
                    "Body": {
                        "type": "object",
                        "required": ["text"],
                        "properties": {
                            "text": {"type": "string", "description": "The words, a|b."},
                            "kind": {"type": "string", "enum": ["x", "y"]},
                        },
                    }
                },
            },
            "x-events": {
                "turn.done": {
                    "description": "It ended.",
                    "schema": _ref("Body"),
                    "numbered": True,
                    "terminal": True,
                    "feeds": ["turn", "server"],
                }
            },
            "x-problems-catalogue": {
                "busy": {
                    "title": 'The "session" is busy',
                    "statuses": [409, 429],
                    "description": "Wait.",
                    "members": ["session_id"],
                },
                "unused": {"title": "Unused", "statuses": [500], "description": "Never.", "members": []},
            },
            "x-scopes-catalogue": {
                "sessions:w": {"description": "Drive sessions.", "read": False},
                "sessions:r": {"description": "Read sessions.", "read": True},
            },
        }
    )


def _open_operation() -> dict[str, Any]:
    return {
        "operationId": "live",
        "tags": ["turns"],
        "summary": "Be up",
        "description": "Says so.",
        "responses": {"200": {"description": "Up."}},
        "x-problems": {},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}

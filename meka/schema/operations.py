"""GENERATED from openapi.yaml by tools/codegen; edit the document, then run `make gen`."""

from collections.abc import Mapping
from typing import NamedTuple


class Scopes(NamedTuple):
    """What a token must hold: each of `all`, and one of `any` where that names some."""

    all: tuple[str, ...]
    any: tuple[str, ...]


class Operation(NamedTuple):
    """One operation; `scopes` is None where no token is asked for, `problems` has slugs by status."""

    id: str
    method: str
    path: str
    scopes: Scopes | None
    success: tuple[int, ...]
    problems: Mapping[int, tuple[str, ...]]
    body_types: tuple[str, ...]
    body_required: bool


SCOPES: tuple[str, ...] = (
    "sessions:r",
    "sessions:w",
    "skills:r",
    "skills:w",
    "memory:r",
    "memory:w",
    "schedule:r",
    "schedule:w",
    "mcp:r",
    "mcp:w",
    "config:r",
    "config:w",
)

READ_SCOPES: tuple[str, ...] = (
    "sessions:r",
    "skills:r",
    "memory:r",
    "schedule:r",
    "mcp:r",
    "config:r",
)
"""Those of which any one admits to discovery."""

OPERATIONS: Mapping[str, Operation] = {
    "live": Operation(
        id="live",
        method="GET",
        path="/v1/health/live",
        scopes=None,
        success=(200,),
        problems={
            500: ("internal",),
        },
        body_types=(),
        body_required=False,
    ),
    "ready": Operation(
        id="ready",
        method="GET",
        path="/v1/health/ready",
        scopes=None,
        success=(200,),
        problems={
            500: ("internal",),
        },
        body_types=(),
        body_required=False,
    ),
    "get_openapi": Operation(
        id="get_openapi",
        method="GET",
        path="/v1/openapi.json",
        scopes=None,
        success=(200,),
        problems={
            404: ("not-found",),
            500: ("internal",),
        },
        body_types=(),
        body_required=False,
    ),
    "get_info": Operation(
        id="get_info",
        method="GET",
        path="/v1/info",
        scopes=Scopes(all=(), any=("config:r", "mcp:r", "memory:r", "schedule:r", "sessions:r", "skills:r")),
        success=(200,),
        problems={
            401: ("auth",),
            403: ("auth-scope",),
            500: ("internal",),
        },
        body_types=(),
        body_required=False,
    ),
    "list_profiles": Operation(
        id="list_profiles",
        method="GET",
        path="/v1/profiles",
        scopes=Scopes(all=(), any=("config:r", "mcp:r", "memory:r", "schedule:r", "sessions:r", "skills:r")),
        success=(200,),
        problems={
            401: ("auth",),
            403: ("auth-scope",),
            500: ("internal",),
        },
        body_types=(),
        body_required=False,
    ),
    "list_sessions": Operation(
        id="list_sessions",
        method="GET",
        path="/v1/sessions",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            422: ("invalid-body",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "create_session": Operation(
        id="create_session",
        method="POST",
        path="/v1/sessions",
        scopes=Scopes(all=("sessions:w",), any=()),
        success=(201,),
        problems={
            401: ("auth",),
            403: ("auth-scope",),
            413: ("payload-too-large",),
            415: ("unsupported-media-type",),
            422: ("invalid-body",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=("application/json",),
        body_required=True,
    ),
    "get_session": Operation(
        id="get_session",
        method="GET",
        path="/v1/sessions/{id}",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "delete_session": Operation(
        id="delete_session",
        method="DELETE",
        path="/v1/sessions/{id}",
        scopes=Scopes(all=("sessions:w",), any=()),
        success=(204,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            409: ("turn-in-flight", "session-locked"),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "patch_session": Operation(
        id="patch_session",
        method="PATCH",
        path="/v1/sessions/{id}",
        scopes=Scopes(all=("sessions:w",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            409: ("turn-in-flight", "session-locked"),
            413: ("payload-too-large",),
            415: ("unsupported-media-type",),
            422: ("invalid-body", "session-not-drivable"),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=("application/json",),
        body_required=True,
    ),
    "list_tools": Operation(
        id="list_tools",
        method="GET",
        path="/v1/sessions/{id}/tools",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            409: ("session-not-loaded",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "submit_turn": Operation(
        id="submit_turn",
        method="POST",
        path="/v1/sessions/{id}/turn",
        scopes=Scopes(all=("sessions:w",), any=()),
        success=(200, 202),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            409: ("turn-in-flight", "session-locked", "turn-canceled"),
            413: ("payload-too-large",),
            415: ("unsupported-media-type",),
            422: ("invalid-body", "session-not-drivable", "request-too-large"),
            429: ("concurrency-limit",),
            500: ("internal",),
            502: ("provider", "provider-unavailable", "context-overflow"),
            503: ("store-unavailable", "mcp-unavailable", "shutting-down"),
        },
        body_types=("application/json",),
        body_required=True,
    ),
    "cancel_turn": Operation(
        id="cancel_turn",
        method="POST",
        path="/v1/sessions/{id}/cancel",
        scopes=Scopes(all=("sessions:w",), any=()),
        success=(204,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            409: ("turn-mismatch",),
            413: ("payload-too-large",),
            415: ("unsupported-media-type",),
            422: ("invalid-body",),
            500: ("internal",),
        },
        body_types=("application/json",),
        body_required=False,
    ),
    "list_turns": Operation(
        id="list_turns",
        method="GET",
        path="/v1/sessions/{id}/turns",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "get_turn": Operation(
        id="get_turn",
        method="GET",
        path="/v1/sessions/{id}/turns/{turn_id}",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found", "not-found"),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
    "list_messages": Operation(
        id="list_messages",
        method="GET",
        path="/v1/sessions/{id}/messages",
        scopes=Scopes(all=("sessions:r",), any=()),
        success=(200,),
        problems={
            400: ("invalid-body",),
            401: ("auth",),
            403: ("auth-scope",),
            404: ("session-not-found",),
            500: ("internal",),
            503: ("store-unavailable",),
        },
        body_types=(),
        body_required=False,
    ),
}

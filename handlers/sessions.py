"""Sessions."""

from typing import Any

from flask import Response

from meka.schema.types import CreateSessionRequest, PatchSessionRequest
from meka.service.services import Services
from meka.store.listing import Cursor, SessionFilter
from meka.wire.answers import json_response, no_content
from meka.wire.auth import current_token
from meka.wire.conditional import decode_cursor, encode_cursor


def create_session(services: Services, body: CreateSessionRequest) -> Response:
    record = services.sessions.create(body, current_token().fingerprint)
    return json_response(record, 201, {"Location": f"/v1/sessions/{record['id']}"})


def list_sessions(
    services: Services,
    limit: int | None = None,
    cursor: str | None = None,
    **filters: Any,
) -> Response:
    after = None if cursor is None else Cursor(*decode_cursor(cursor, (bool, int, str)))
    records, following = services.sessions.list(SessionFilter(**filters), after, limit)
    body: dict[str, Any] = {"sessions": records}
    if following is not None:
        body["next_cursor"] = encode_cursor(following)
    return json_response(body)


def get_session(services: Services, id: str) -> Response:
    return json_response(services.sessions.get(id))


def patch_session(services: Services, id: str, body: PatchSessionRequest) -> Response:
    return json_response(services.sessions.patch(id, body))


def delete_session(services: Services, id: str) -> Response:
    services.sessions.delete(id)
    return no_content()


"""The history of a session."""

from flask import Response

from meka.service.services import Services
from meka.wire.answers import json_response
from meka.wire.conditional import make_etag


def list_messages(
    services: Services, id: str, offset: int | None = None, limit: int | None = None
) -> Response:
    history = services.sessions.history(id, offset, limit)
    return json_response(history.body, headers={"ETag": make_etag(history.revision, history.total)})

"""The history of a session."""

from collections.abc import Mapping
from typing import Any

from flask import Response

from meka.schema.types import RewindRequestBody
from meka.service.services import Services
from meka.wire.answers import JSON, dump_json
from meka.wire.conditional import condition_of, make_etag


def list_messages(
    services: Services, id: str, offset: int | None = None, limit: int | None = None
) -> Response:
    history = services.sessions.history(id, offset, limit, dump_json)
    etag = {"ETag": make_etag(history.revision, history.total)}
    return Response(history.body, headers=etag, content_type=JSON)


def rewind_session(
    services: Services, id: str, body: RewindRequestBody, if_match: str | None = None
) -> tuple[Mapping[str, Any], int, dict[str, str]]:
    done = services.histories.rewind(id, body.get("turns", 1) or 1, condition_of(if_match))
    answer = {
        "session_id": id,
        "turns_removed": done.turns_removed,
        "messages_before": done.messages_before,
        "messages_after": done.messages_after,
    }
    return answer, 200, {"ETag": make_etag(done.revision, done.messages_after)}

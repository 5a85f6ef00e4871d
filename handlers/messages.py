"""The history of a session."""

from collections.abc import Mapping
from typing import Any

from meka.schema.types import RewindRequestBody
from meka.service.services import Services
from meka.wire.conditional import condition_of, make_etag


def list_messages(
    services: Services, id: str, offset: int | None = None, limit: int | None = None
) -> tuple[Mapping[str, Any], int, dict[str, str]]:
    history = services.sessions.history(id, offset, limit)
    return history.body, 200, {"ETag": make_etag(history.revision, history.total)}


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

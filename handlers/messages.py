"""The history of a session."""

from collections.abc import Mapping
from typing import Any

from meka.service.services import Services
from meka.wire.conditional import make_etag


def list_messages(
    services: Services, id: str, offset: int | None = None, limit: int | None = None
) -> tuple[Mapping[str, Any], int, dict[str, str]]:
    history = services.sessions.history(id, offset, limit)
    return history.body, 200, {"ETag": make_etag(history.revision, history.total)}

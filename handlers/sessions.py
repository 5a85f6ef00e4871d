"""Sessions."""

from datetime import datetime
from typing import Any

from meka.schema.types import CreateSessionRequest, ForkSessionBody, PatchSessionRequest
from meka.service.services import Services
from meka.store.listing import Cursor, SessionFilter
from meka.wire.auth import current_token
from meka.wire.conditional import condition_of, decode_cursor, encode_cursor

_CURSOR = (bool, int, str)


def create_session(
    services: Services, body: CreateSessionRequest
) -> tuple[dict[str, Any], int, dict[str, str]]:
    record = services.sessions.create(body, current_token().fingerprint)
    return record, 201, {"Location": f"/v1/sessions/{record['id']}"}


def list_sessions(
    services: Services,
    limit: int | None = None,
    cursor: str | None = None,
    include_children: bool = False,
    working_directory: str | None = None,
    parent: str | None = None,
    profile: str | None = None,
    project: str | None = None,
    pinned: bool | None = None,
    updated_since: datetime | None = None,
) -> dict[str, Any]:
    where = SessionFilter(
        include_children, working_directory, parent, profile, project, pinned, updated_since
    )
    after = None if cursor is None else Cursor(*decode_cursor(cursor, _CURSOR))
    records, following = services.sessions.list(where, after, limit)
    body: dict[str, Any] = {"sessions": records}
    return body if following is None else body | {"next_cursor": encode_cursor(following)}


def search_sessions(
    services: Services, q: str, limit: int | None = None, include_children: bool = False
) -> dict[str, Any]:
    return {"sessions": services.search.find(q, limit, include_children=include_children)}


def get_session(services: Services, id: str) -> dict[str, Any]:
    return services.sessions.get(id)


def patch_session(services: Services, id: str, body: PatchSessionRequest) -> dict[str, Any]:
    return services.sessions.patch(id, body)


def delete_session(services: Services, id: str) -> None:
    services.sessions.delete(id)


def fork_session(
    services: Services, id: str, body: ForkSessionBody, if_match: str | None = None
) -> tuple[dict[str, Any], int, dict[str, str]]:
    record = services.histories.fork(id, body, current_token().fingerprint, condition_of(if_match))
    return record, 201, {"Location": f"/v1/sessions/{record['id']}"}

"""The inbox of a session."""

from typing import Any

from meka.schema.types import InboxRequest
from meka.service.services import Services
from meka.wire.auth import current_token


def post_inbox(
    services: Services, id: str, body: InboxRequest, idempotency_key: str | None = None
) -> tuple[dict[str, Any], int]:
    return services.inboxes.post(id, body, current_token().fingerprint, idempotency_key), 202


def list_inbox(services: Services, id: str) -> dict[str, Any]:
    return services.inboxes.list(id)


def delete_inbox_item(services: Services, id: str, item_id: str) -> None:
    services.inboxes.withdraw(id, item_id)

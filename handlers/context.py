"""The context window: read, and made room in."""

from typing import Any

from flask import Response

from meka.schema.types import CompactRequestBody
from meka.service.services import Services
from meka.wire.answers import json_response


def get_context(services: Services, id: str) -> dict[str, Any]:
    return services.compactions.context(id)


def compact_session(services: Services, id: str, body: CompactRequestBody | None = None) -> Response:
    return json_response(services.compactions.compact(id, body or {}))

"""The standing instructions."""

from typing import Any

from meka.schema.types import WriteInstructionsRequest
from meka.service.services import Services
from meka.wire.auth import current_token

_IN_DETAIL = frozenset({"config:r", "config:w"})


def get_instructions(services: Services) -> dict[str, Any]:
    return _view(services)


def put_instructions(services: Services, body: WriteInstructionsRequest) -> dict[str, Any]:
    services.installation.write_instructions(body["content"])
    return _view(services)


def _view(services: Services) -> dict[str, Any]:
    return services.installation.instructions(in_detail=not current_token().scopes.isdisjoint(_IN_DETAIL))

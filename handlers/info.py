"""What the server is."""

from typing import Any

from meka.service.services import Services
from meka.wire.auth import current_token


def get_info(services: Services) -> dict[str, Any]:
    return services.discovery.info(current_token().scopes)

"""The tools of a session."""

from typing import Any

from meka.service.services import Services


def list_tools(services: Services, id: str) -> dict[str, Any]:
    return services.discovery.tools(id)

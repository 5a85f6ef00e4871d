"""The configured profiles."""

from typing import Any

from meka.service.services import Services


def list_profiles(services: Services) -> dict[str, Any]:
    return services.discovery.profiles()

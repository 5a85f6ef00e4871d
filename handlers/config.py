"""The configuration file."""

from typing import Any

from meka.service.services import Services


def get_config(services: Services) -> dict[str, Any]:
    return services.installation.state()


def reload_config(services: Services) -> dict[str, Any]:
    return services.installation.reload()

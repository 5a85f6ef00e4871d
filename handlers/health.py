"""The health probes."""

from typing import Any

from meka.service.services import Services


def live(_services: Services) -> dict[str, str]:
    return {"status": "ok"}


def ready(services: Services) -> tuple[dict[str, Any], int]:
    readiness = services.discovery.readiness()
    return readiness, 200 if readiness["status"] == "ok" else 503

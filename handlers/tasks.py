"""Background tasks."""

from typing import Any

from meka.service.services import Services


def list_session_tasks(services: Services, id: str) -> dict[str, Any]:
    return services.background.list(id)


def list_tasks(services: Services, status: str | None = None) -> dict[str, Any]:
    return services.background.list_all(status)


def cancel_task(services: Services, id: str, task_id: str) -> None:
    services.background.cancel(id, task_id)

"""Projects."""

from typing import Any

from meka.schema.types import CreateProjectRequest
from meka.service.services import Services


def list_projects(services: Services) -> dict[str, Any]:
    return services.projects.list()


def create_project(services: Services, body: CreateProjectRequest) -> tuple[dict[str, Any], int]:
    return services.projects.add(body["name"]), 201

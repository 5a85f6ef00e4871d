"""The configured profiles."""

from typing import Any, TypeAlias
from urllib.parse import quote

from meka.schema.types import CreateProfileRequest, PatchProfileRequest
from meka.service.services import Services

Created: TypeAlias = tuple[dict[str, Any], int, dict[str, str]]


def list_profiles(services: Services) -> dict[str, Any]:
    return services.discovery.profiles()


def create_profile(services: Services, body: CreateProfileRequest) -> Created:
    detail = services.profiles.add(body)
    return detail, 201, {"Location": f"/v1/profiles/{quote(detail['name'], safe='')}"}


def get_profile(services: Services, name: str) -> dict[str, Any]:
    return services.profiles.detail(name)


def patch_profile(services: Services, name: str, body: PatchProfileRequest) -> dict[str, Any]:
    return services.profiles.patch(name, body)


def delete_profile(services: Services, name: str) -> None:
    services.profiles.remove(name)

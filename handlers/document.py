"""The published contract."""

from collections.abc import Mapping
from typing import Any

from meka.base.errors import NotFoundError
from meka.service.services import Services


def get_openapi(services: Services) -> Mapping[str, Any]:
    if services.document is None:
        raise NotFoundError("the document is not published here; [serve].docs is off")
    return services.document

"""The published contract."""

from flask import Response

from meka.base.errors import NotFoundError
from meka.service.services import Services
from meka.wire.answers import JSON


def get_openapi(services: Services) -> Response:
    if services.document is None:
        raise NotFoundError("the document is not published here; [serve].docs is off")
    return Response(services.document, content_type=JSON)

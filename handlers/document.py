"""The published contract."""

from flask import Response

from meka.base.errors import NotFoundError
from meka.service.services import Services
from meka.wire.answers import json_response


def get_openapi(services: Services) -> Response:
    if services.document is None:
        raise NotFoundError("the document is not published here; [serve].docs is off")
    return json_response(services.document)

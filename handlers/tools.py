"""The tools of a session."""

from flask import Response

from meka.service.services import Services
from meka.wire.answers import json_response


def list_tools(services: Services, id: str) -> Response:
    return json_response(services.discovery.tools(id))

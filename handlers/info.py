"""What the server is."""

from flask import Response

from meka.service.services import Services
from meka.wire.answers import json_response
from meka.wire.auth import current_token


def get_info(services: Services) -> Response:
    return json_response(services.discovery.info(current_token().scopes))

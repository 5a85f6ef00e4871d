"""The configured profiles."""

from flask import Response

from meka.service.services import Services
from meka.wire.answers import json_response


def list_profiles(services: Services) -> Response:
    return json_response(services.discovery.profiles())

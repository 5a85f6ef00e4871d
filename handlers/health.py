"""The health probes."""

from flask import Response

from meka.service.services import Services
from meka.wire.answers import json_response


def live(_services: Services) -> Response:
    return json_response({"status": "ok"})


def ready(services: Services) -> Response:
    readiness = services.discovery.readiness()
    return json_response(readiness, 200 if readiness["status"] == "ok" else 503)

"""The images of a session."""

from flask import Response

from meka.service.services import Services

# Bytes under their own hash never change.
_CACHING = "private, max-age=31536000, immutable"


def get_blob(services: Services, id: str, hash: str) -> Response:
    blob = services.histories.blob(id, hash)
    headers = {"ETag": f'"{blob.hash}"', "Cache-Control": _CACHING, "X-Content-Type-Options": "nosniff"}
    return Response(blob.data, 200, headers, content_type=blob.media_type)

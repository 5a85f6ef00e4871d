"""Conversations as documents: export and import."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flask import Response

from meka.service.services import Services
from meka.wire.answers import JSON
from meka.wire.auth import current_token

_CHUNK_BYTES = 65536


def export_session(services: Services, id: str, format: str = "markdown") -> Response:
    if format == "json":
        return Response(_chunks(services.archives.export_json(id)), content_type=JSON)
    return Response(services.archives.export_markdown(id), content_type="text/markdown; charset=utf-8")


def import_session(services: Services, body: Mapping[str, Any]) -> tuple[dict[str, Any], int, dict[str, str]]:
    made = services.archives.import_archive(body, current_token().fingerprint)
    return made, 201, {"Location": f"/v1/sessions/{made['session_id']}"}


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, gathered to what is worth a write."""
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) >= _CHUNK_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)

"""The session feed and the server feed."""

from flask import Response, request

from meka.service.services import Services
from meka.service.streams import READ
from meka.wire.auth import current_token
from meka.wire.connection import connection_of
from meka.wire.sse import head_response, stream_response


def stream_session(
    services: Services, id: str, last_event_id: str | None = None, attend: bool = False
) -> Response:
    token = current_token()
    if request.method == "HEAD":
        services.sessions.get(id)
        return head_response()
    reader = services.streams.open_session(id, token.scopes, last_event_id, attend=attend)
    stream = services.held_streams.hold(reader, token.fingerprint, reader.needs)
    return stream_response(stream, connection_of(request.environ))


def stream_server(services: Services, last_event_id: str | None = None) -> Response:
    if request.method == "HEAD":
        return head_response()
    reader = services.streams.open_server(last_event_id)
    stream = services.held_streams.hold(reader, current_token().fingerprint, (READ,))
    return stream_response(stream, connection_of(request.environ))

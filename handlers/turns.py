"""Turns: run, stopped, read."""

from typing import Any

from flask import Response, request

from meka.schema.types import CancelRequest, TurnRequest
from meka.service.services import Services
from meka.wire.answers import json_response
from meka.wire.connection import connection_of
from meka.wire.sse import stream_response


def submit_turn(services: Services, id: str, body: TurnRequest) -> Response:
    turn = services.turns.submit(id, body)
    connection = connection_of(request.environ)
    if turn.reader is not None:
        return stream_response(turn, connection)
    if body.get("detach"):
        return json_response(turn.record(), 202, {"Location": f"/v1/sessions/{id}/turns/{turn.id}"})
    connection.on_disconnect(turn.leave)
    return json_response(turn.answer())


def cancel_turn(services: Services, id: str, body: CancelRequest | None = None) -> None:
    services.turns.cancel(id, (body or {}).get("turn_id"))


def list_turns(
    services: Services, id: str, limit: int | None = None, before: str | None = None
) -> dict[str, Any]:
    return services.turns.list(id, limit, before)


def get_turn(services: Services, id: str, turn_id: str) -> dict[str, Any]:
    return services.turns.get(id, turn_id)

"""Turns: run, stopped, read."""

from typing import Any

from flask import Response, request

from meka.schema.types import CancelRequest, TurnRequest
from meka.service.held import HeldTurn
from meka.service.idempotency import Ticket
from meka.service.services import Services
from meka.service.streams import WRITE
from meka.wire.answers import json_response
from meka.wire.auth import current_token
from meka.wire.connection import connection_of
from meka.wire.once import answer_finally, answer_of, answer_once
from meka.wire.sse import stream_response


def submit_turn(
    services: Services, id: str, body: TurnRequest, idempotency_key: str | None = None
) -> Response:
    detached, streamed = bool(body.get("detach")), bool(body.get("stream"))
    if idempotency_key is None or (streamed and not detached):
        return _run(services, id, body)

    def detach(ticket: Ticket) -> Response:
        turn = services.turns.submit(id, body)
        try:
            record = _record(turn)
        except BaseException:
            turn.close()
            raise
        ticket.complete(answer_of(record))
        return _stream(services, turn) if streamed else record

    run = detach if detached else answer_finally(lambda: _run(services, id, body))
    return answer_once(services.idempotency, id, idempotency_key, run)


def _run(services: Services, id: str, body: TurnRequest) -> Response:
    turn = services.turns.submit(id, body)
    if body.get("stream"):
        return _stream(services, turn)
    if body.get("detach"):
        return _record(turn)
    connection_of(request.environ).on_disconnect(turn.leave)
    return json_response(turn.answer())


def _stream(services: Services, turn: HeldTurn) -> Response:
    stream = services.held_streams.hold(turn, current_token().fingerprint, (WRITE,))
    return stream_response(stream, connection_of(request.environ))


def _record(turn: HeldTurn) -> Response:
    return json_response(turn.record(), 202, {"Location": f"/v1/sessions/{turn.session_id}/turns/{turn.id}"})


def cancel_turn(services: Services, id: str, body: CancelRequest | None = None) -> None:
    services.turns.cancel(id, (body or {}).get("turn_id"))


def list_turns(
    services: Services, id: str, limit: int | None = None, before: str | None = None
) -> dict[str, Any]:
    return services.turns.list(id, limit, before)


def get_turn(services: Services, id: str, turn_id: str) -> dict[str, Any]:
    return services.turns.get(id, turn_id)

"""Requests with an Idempotency-Key: run once, answered again byte for byte (section "Idempotency")."""

from collections.abc import Callable
from http import HTTPStatus

import flask

from meka.base.errors import MekaError, SessionLockedError, TurnCanceledError, TurnInFlightError
from meka.service.idempotency import Answer, IdempotencyKeys, Ticket
from meka.wire.auth import current_token
from meka.wire.bodies import body_digest
from meka.wire.problems import problem_response

# What a later request may well not meet again, so that the retry runs.
_PASSING = (TurnCanceledError, TurnInFlightError, SessionLockedError)


def answer_once(
    keys: IdempotencyKeys, session_id: str, key: str, run: Callable[[Ticket], flask.Response]
) -> flask.Response:
    """The answer of `run` to the request in hand, or the one that was given to the key before.

    `run` may complete its ticket with an answer; what it has not completed by its end is forgotten.
    Raises: IdempotencyError, and what `run` raises.
    """
    begun = keys.begin(current_token().fingerprint, session_id, key, body_digest())
    if isinstance(begun, Answer):
        return flask.Response(begun.body, begun.status, begun.headers)
    with begun as ticket:
        return run(ticket)


def answer_finally(run: Callable[[], flask.Response]) -> Callable[[Ticket], flask.Response]:
    """`run` with its answer kept at the end: a success, or a refusal that would be given again."""

    def run_then_keep(ticket: Ticket) -> flask.Response:
        try:
            response = run()
        except MekaError as error:
            if not _is_lasting(error):
                raise
            response = problem_response(error, flask.request.path)
        ticket.complete(answer_of(response))
        return response

    return run_then_keep


def answer_of(response: flask.Response) -> Answer:
    """A response as it will be sent."""
    return Answer(response.status_code, tuple(response.headers.items()), response.get_data())


def _is_lasting(error: MekaError) -> bool:
    refusal = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return refusal and error.status != HTTPStatus.TOO_MANY_REQUESTS and not isinstance(error, _PASSING)

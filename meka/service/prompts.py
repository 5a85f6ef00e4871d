"""Approvals: a call above the level is parked and put to whoever can answer, until an answer or its end.

Who can answer: the client that streams the turn, where its session shows prompts; a feed reader that attends;
and, on a session whose client comes back, whoever that will be, in a turn that no request holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from gevent.event import AsyncResult

from meka.agent.permission import Question, Verdict
from meka.base.clock import Clock, rfc3339
from meka.base.errors import InvalidBodyError, RequestNotFoundError
from meka.base.ids import Ids
from meka.service.registry import Registry
from meka.service.runtime import ActiveTurn, SessionRuntime
from meka.service.sessions import not_drivable

EXPIRY_SECONDS = 1800.0
_ANSWERS: Mapping[str, Verdict] = {
    "allow": Verdict.ALLOWED,
    "allow_always": Verdict.ALLOWED,
    "deny": Verdict.DENIED,
    "deny_always": Verdict.DENIED,
}


@dataclass(slots=True, eq=False)
class Parked:
    """A prompt that waits, until the monotonic second `deadline`. `answer` resolves with the outcome."""

    request_id: str
    payload: Mapping[str, Any]
    deadline: float
    answer: AsyncResult = field(default_factory=AsyncResult)


class Prompts:
    """Parks prompts and takes their answers. `grace_seconds` is how long one waits with nobody there."""

    def __init__(self, registry: Registry, clock: Clock, ids: Ids, grace_seconds: float) -> None:
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._grace_seconds = grace_seconds

    def ask(self, runtime: SessionRuntime, active: ActiveTurn, question: Question) -> Verdict:
        """Put a call to a person and wait for what becomes of it."""
        remembered = runtime.remembered.get(question.tool_name)
        if remembered is not None:
            return remembered
        if not self._has_answerer(runtime, active) and not self._waits_for_return(runtime, active):
            return Verdict.NOBODY
        outcome = self._ask(runtime, active, question)
        if outcome == "expired":
            return Verdict.EXPIRED
        return _ANSWERS.get(outcome, Verdict.CANCELED)

    def _ask(self, runtime: SessionRuntime, active: ActiveTurn, question: Question) -> str:
        """Park the prompt until its outcome, which is said however it comes: also when the call is killed."""
        parked = self._parked(question)
        runtime.parked[parked.request_id] = parked
        outcome = "canceled"
        try:
            runtime.emit("permission_required", parked.payload, active.turn.id, parked.request_id)
            outcome = self._wait(runtime, active, parked)
            if outcome.endswith("_always"):
                runtime.remembered[question.tool_name] = _ANSWERS[outcome]
        finally:
            del runtime.parked[parked.request_id]
            runtime.feed.close_prompt(parked.request_id)
            resolved = {"request_id": parked.request_id, "outcome": outcome}
            runtime.emit("permission_resolved", resolved, active.turn.id)
        return outcome

    def _parked(self, question: Question) -> Parked:
        request_id = f"req_{self._ids.new()}"
        payload = {
            "request_id": request_id,
            "tool_name": question.tool_name,
            "input": question.input,
            "expires_in_seconds": int(EXPIRY_SECONDS),
            "expires_at": rfc3339(self._clock.now() + timedelta(seconds=EXPIRY_SECONDS)),
        }
        return Parked(request_id, payload, self._clock.monotonic() + EXPIRY_SECONDS)

    def _wait(self, runtime: SessionRuntime, active: ActiveTurn, parked: Parked) -> str:
        """The outcome. Looks again whenever someone comes or goes."""
        absent_since: float | None = None
        while True:
            now = self._clock.monotonic()
            if parked.answer.ready():
                return str(parked.answer.get())
            if active.turn.cancel.requested:
                return "canceled"
            if now >= parked.deadline:
                return "expired"
            until = parked.deadline
            if self._has_answerer(runtime, active) or self._waits_for_return(runtime, active):
                absent_since = None
            else:
                absent_since = now if absent_since is None else absent_since
                until = min(until, absent_since + self._grace_seconds)
                if now >= until:
                    return "canceled"
            runtime.attendance.clear()
            active.turn.cancel.wait_beside([parked.answer, runtime.attendance], until - now)

    def _has_answerer(self, runtime: SessionRuntime, active: ActiveTurn) -> bool:
        if runtime.attending > 0:
            return True
        shows = runtime.row.capabilities.get("supports_permission_prompts", True)
        return bool(shows and active.streaming and active.listeners > 0)

    def _waits_for_return(self, runtime: SessionRuntime, active: ActiveTurn) -> bool:
        return not active.held and bool(runtime.row.capabilities.get("answers_prompts_on_return"))

    def answer(self, session_id: str, request_id: str, body: Mapping[str, Any]) -> None:
        """Answer a parked prompt.

        Raises: SessionNotFoundError, SessionNotDrivableError, RequestNotFoundError, InvalidBodyError.
        """
        runtime = self._registry.get(session_id)
        row = runtime.row if runtime is not None else self._registry.row(session_id)
        if row.parent_id is not None:
            raise not_drivable(row)
        parked: Parked | None = None if runtime is None else runtime.parked.get(request_id)
        if parked is None or parked.answer.ready():
            raise RequestNotFoundError(
                f"no prompt '{request_id}' is waiting in session '{session_id}'",
                session_id=session_id,
                request_id=request_id,
            )
        if body["outcome"] not in _ANSWERS:
            raise InvalidBodyError(
                f"`outcome` is invalid: the request is an approval, which takes {', '.join(_ANSWERS)}, "
                f"not '{body['outcome']}'"
            )
        if "content" in body:
            raise InvalidBodyError("`content` is invalid: an approval's answer carries none")
        parked.answer.set(body["outcome"])

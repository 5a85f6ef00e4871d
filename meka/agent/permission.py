"""Whether a call may run: the session's level at this moment, and a person's word where approvals are on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from meka.base.levels import Level


class Verdict(StrEnum):
    """What became of a call that is above the session's level and was to be put to a person."""

    ALLOWED = "allowed"
    DENIED = "denied"
    CANCELED = "canceled"
    EXPIRED = "expired"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Question:
    """A call above the level, as a person is asked about it."""

    call_id: str
    tool_name: str
    input: Mapping[str, Any]


AskPerson = Callable[[Question], Verdict]


@dataclass(frozen=True, slots=True)
class Gate:
    """The check made at each call. `level` and `approvals` answer for this moment, so a change is a brake."""

    level: Callable[[], Level]
    approvals: Callable[[], bool]
    ask: AskPerson
    notify: Callable[[str, str], None]

    def refusal(self, question: Question, required: Level) -> str | None:
        """Why the call may not run, as the model reads it; None when it may."""
        held = self.level()
        if held is not Level.NONE and held.holds(required):
            return None
        if not self.approvals():
            return (
                f"{question.tool_name} needs the permission level '{required}' and this session is at "
                f"'{held}'. The user can raise the session's level."
            )
        return self._asked(question)

    def _asked(self, question: Question) -> str | None:
        verdict = self.ask(question)
        if verdict is Verdict.ALLOWED:
            return None
        if verdict is Verdict.DENIED:
            return "The user denied this call."
        if verdict is Verdict.EXPIRED:
            return "Nobody answered the approval request in time, so this call was denied."
        if verdict is Verdict.CANCELED:
            return "The approval request was canceled before anyone answered it."
        self.notify(
            "warn",
            f"{question.tool_name} needed an approval and nobody was there to give it; attend the session's "
            "feed with attend=true, or declare the capability answers_prompts_on_return.",
        )
        return f"{question.tool_name} needs an approval and nobody is there to give it, so it was refused."

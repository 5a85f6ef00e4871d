"""What follows a reply without calls: a nudge back to work, messages that arrived meanwhile, or the end."""

from dataclasses import dataclass

from meka.agent.blocks import Nudge
from meka.agent.checklist import NUDGES_A_TURN, NUDGES_IN_A_ROW, count_text, nudge_text
from meka.agent.mail import Letters, Moment
from meka.agent.providers.base import StopReason
from meka.agent.reply import Reply
from meka.agent.turn import Turn, TurnPorts

_ASK_FOR_WORDS = (
    "Your last reply held nothing the person can see. Answer in words, or call a tool if there is work left."
)
_NORMAL_ENDS = (None, StopReason.END_TURN, StopReason.TOOL_USE)


@dataclass(frozen=True, slots=True)
class More:
    """Why a turn goes on after a reply without calls: a nudge, letters, or both."""

    nudge: Nudge | None
    letters: Letters | None


def what_follows(turn: Turn, ports: TurnPorts, reply: Reply) -> More | None:
    """What the reply is followed by; None when the turn ends with it. A refusal ends it whatever waits."""
    if reply.stop_reason is StopReason.REFUSAL:
        return None
    letters = ports.mail.take(Moment.REPLY)
    nudge = _nudge_for(turn, ports, reply) if reply.stop_reason in _NORMAL_ENDS else None
    if nudge is not None or letters is not None:
        return More(nudge, letters)
    if reply.stop_reason in _NORMAL_ENDS:
        _warn_of_what_is_open(turn, ports)
    return None


def announce_nudge(turn: Turn, ports: TurnPorts, nudge: Nudge) -> None:
    """Tell readers that the turn goes on, and why, so that it does not look like a hang."""
    ports.emit("turn.nudged", {"kind": nudge.kind, "text": nudge.text})
    if nudge.kind == "checklist":
        state = count_text(ports.checklist())
        count = f"nudge {turn.nudges_in_a_row} of {NUDGES_IN_A_ROW}"
        ports.notify("info", f"Checklist: {state}, continuing, {count}")


def _nudge_for(turn: Turn, ports: TurnPorts, reply: Reply) -> Nudge | None:
    """The model is asked once a turn for words, and sent back to its checklist as the caps let it."""
    if reply.is_silent and not turn.asked_for_words:
        turn.asked_for_words = True
        return Nudge("visible_reply", _ASK_FOR_WORDS)
    current = ports.checklist()
    if not current.held or turn.nudges_in_a_row >= NUDGES_IN_A_ROW or turn.nudges >= NUDGES_A_TURN:
        return None
    turn.nudges_in_a_row += 1
    turn.nudges += 1
    return Nudge("checklist", nudge_text(current))


def _warn_of_what_is_open(turn: Turn, ports: TurnPorts) -> None:
    current = ports.checklist()
    if current.held:
        spent = f" after {NUDGES_A_TURN} nudges this turn" if turn.nudges >= NUDGES_A_TURN else ""
        ports.notify("warn", f"Checklist: {count_text(current)} left open{spent}")

"""What a process that died left half-done in a session, put right when the next one loads it."""

from meka.agent.blocks import BackgroundReport, Role, ToolResult
from meka.agent.conversation import Conversation, Entry
from meka.store import inbox, turns
from meka.store.connection import Tx
from meka.store.database import Database
from meka.store.turns import TurnRow


def offer_unanswered(database: Database, conversation: Conversation) -> None:
    """Take back the opening of an inbox turn that died before anything from the model was stored.

    Its items are offered again, as after an attempt that failed; what rode a client's message stays in it.
    """
    opening = _last_opening(conversation)
    if opening is None:
        return
    items = database.read(lambda tx: _items_of(tx, conversation.session_id, opening))
    if not items:
        return
    told = tuple(block for block in opening.message.content if isinstance(block, BackgroundReport))
    if told:
        conversation.rewrite(opening, told, lambda tx, _: inbox.offer_again(tx, items))
    else:
        conversation.withdraw([opening], lambda tx, _: inbox.offer_again(tx, items))


def _last_opening(conversation: Conversation) -> Entry | None:
    """The view's last message, where it is all that its turn added."""
    if not conversation.entries:
        return None
    last = conversation.entries[-1]
    of_turn = [entry for entry in conversation.entries[-2:] if entry.turn_id == last.turn_id]
    results = any(isinstance(block, ToolResult) for block in last.message.content)
    return last if last.message.role is Role.USER and len(of_turn) == 1 and not results else None


def _items_of(tx: Tx, session_id: str, opening: Entry) -> list[str]:
    turn = None if opening.turn_id is None else turns.get(tx, session_id, opening.turn_id)
    return inbox.carried_by(tx, session_id, opening.seq) if turn is not None and _died(turn) else []


def _died(turn: TurnRow) -> bool:
    return turn.source == "inbox" and turn.ended_at is None

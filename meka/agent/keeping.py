"""What a compaction keeps word for word: an end of the conversation, and what people wrote before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from meka.agent.blocks import Inbox, Invocation, Message, Role, Scheduled, Text, ToolResult
from meka.agent.conversation import Entry
from meka.agent.occupancy import BYTES_PER_TOKEN, estimate_message, estimate_text
from meka.base.text import cut_utf8

LEAST_SUMMARIZED = 4
_COPIED_SHARE = 3
_CUT_MARK = "... [cut]"


@dataclass(frozen=True, slots=True)
class Split:
    """A conversation as a compaction sees it. `asked` is a prompt at its end that nothing has answered: it is
    neither summarized nor lost."""

    settled: tuple[Entry, ...]
    asked: tuple[Entry, ...]

    @property
    def is_worth_it(self) -> bool:
        """Whether there is anything to summarize but an earlier summary."""
        said = [entry for entry in self.settled if not is_summary(entry)]
        return any(entry.message.role is Role.ASSISTANT for entry in said)


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays word for word: `tail` as messages, `quotes` as text inside the summary, oldest first."""

    tail: tuple[Entry, ...]
    quotes: tuple[str, ...]


def is_summary(entry: Entry) -> bool:
    """Whether a message is what a compaction left."""
    return "compaction" in (entry.meta or {})


def split(entries: Sequence[Entry]) -> Split:
    """Tell the unanswered prompt at the end from what comes before it."""
    position = len(entries)
    while position and is_prompt(entries[position - 1]):
        position -= 1
    return Split(tuple(entries[:position]), tuple(entries[position:]))


def is_prompt(entry: Entry) -> bool:
    """Whether a message is somebody's words to the model, not the results of its calls."""
    message = entry.message
    has_results = any(isinstance(block, ToolResult) for block in message.content)
    return message.role is Role.USER and not has_results and not is_summary(entry)


def choose(
    settled: Sequence[Entry], budget_tokens: int, *, keep_tail: bool, not_before: datetime | None = None
) -> Kept:
    """What stays of the settled part; nothing written before a moment does."""
    copied = budget_tokens // _COPIED_SHARE
    tail = _tail(settled, budget_tokens - copied, not_before) if keep_tail else ()
    replaced = settled[: len(settled) - len(tail)]
    if not_before is not None:
        replaced = [entry for entry in replaced if entry.created_at >= not_before]
    return Kept(tail, _quotes(replaced, copied))


def _tail(settled: Sequence[Entry], budget_tokens: int, not_before: datetime | None) -> tuple[Entry, ...]:
    """The longest end that fits and begins where the model can read on."""
    begin, room = len(settled), budget_tokens
    for position in range(len(settled) - 1, LEAST_SUMMARIZED - 1, -1):
        entry = settled[position]
        room -= estimate_message(entry.message)
        if room < 0 or (not_before is not None and entry.created_at < not_before):
            break
        if is_prompt(entry) or entry.message.calls:
            begin = position
    return tuple(settled[begin:])


def _quotes(replaced: Sequence[Entry], budget_tokens: int) -> tuple[str, ...]:
    """The words of people, newest first until the room is spent; the last to fit may be cut."""
    quotes: list[str] = []
    room = budget_tokens
    for entry in reversed(replaced):
        words = words_of(entry.message)
        if not words or is_summary(entry):
            continue
        quotes.append(cut_utf8(words, room * BYTES_PER_TOKEN, _CUT_MARK))
        room -= estimate_text(words)
        if room <= 0:
            break
    return tuple(reversed(quotes))


def words_of(message: Message) -> str:
    """What a person or a job said in a message, without what meka wrote around it."""
    if message.role is not Role.USER:
        return ""
    said: list[str] = []
    for block in message.content:
        match block:
            case Text():
                said.append(block.text)
            case Inbox():
                said.append(block.body)
            case Scheduled():
                said.append(block.prompt)
            case Invocation():
                said.append(f"{block.name} {block.directive}".strip())
            case _:
                continue
    return "\n".join(said).strip()

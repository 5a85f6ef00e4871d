"""The checklist: what the agent has committed to, as the calls in its conversation add it up.

The list is a fold over the successful `checklist_add` and `checklist_edit` calls of the view, so a rewind
drops what the turns it drops had added. An item deferred on a background task counts as open again once the
task's outcome has been reported in the conversation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from meka.agent.blocks import BackgroundReport, Message, ToolResult
from meka.base.text import one_line

NUDGES_IN_A_ROW = 3
NUDGES_A_TURN = 9
TOOLS = ("checklist_add", "checklist_edit", "checklist_read")


class ItemStatus(StrEnum):
    """The states an item is held in."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DEFERRED = "deferred"


CLOSING = ("completed", "canceled")
_RECORDED = ("id", "text", "status", "reason", "task", "reopened")
_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("wip", "started", "in-progress"), "in_progress"),
    **dict.fromkeys(("waiting", "blocked", "later", "paused"), "deferred"),
    **dict.fromkeys(("done", "complete", "finished"), "completed"),
    **dict.fromkeys(("cancelled", "skipped", "dropped", "wontfix"), "canceled"),
}


def status_of(word: str) -> str:
    """A status as it is spelled here: the usual other words for each are understood."""
    return _ALIASES.get(word.strip().lower(), word.strip().lower())


class RefusedError(Exception):
    """A change that is refused whole, with the sentence that says why."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing the agent committed to. `task` is the full id of the background task it waits on;
    `reopened` that this task has been reported since."""

    id: int
    text: str
    status: ItemStatus
    reason: str | None = None
    task: str | None = None
    reopened: bool = False

    @property
    def holds(self) -> bool:
        """Whether a turn cannot end while it stands so."""
        return self.status is not ItemStatus.DEFERRED or self.reopened


@dataclass(frozen=True, slots=True)
class Checklist:
    """The open items, and the id the next one gets."""

    items: tuple[Item, ...] = ()
    next_id: int = 1

    @property
    def held(self) -> tuple[Item, ...]:
        """The items that hold the turn."""
        return tuple(item for item in self.items if item.holds)


class TaskLookup:
    """What the checklist asks of background tasks; none exist by default (a sub-agent has none)."""

    def resolve(self, prefix: str) -> str | None:
        """The full id of the session's task that `prefix` names."""

    def is_reported(self, task_id: str) -> bool:
        """Whether the task's outcome has been reported."""
        return False


@dataclass(frozen=True, slots=True)
class Edit:
    """What one `checklist_edit` asks for, as far as it says anything."""

    id: int
    status: str | None = None
    reason: str | None = None
    task: str | None = None
    text: str | None = None


def add(current: Checklist, given: Sequence[Any]) -> tuple[Checklist, list[Item]]:
    """The list with items appended, and those. Raises: RefusedError, and nothing is added."""
    if not given:
        raise RefusedError("`items` is empty")
    added = [_new_item(entry, current.next_id + index) for index, entry in enumerate(given)]
    return Checklist((*current.items, *added), current.next_id + len(added)), added


def _new_item(entry: Any, item_id: int) -> Item:
    text, word = (entry, "pending") if isinstance(entry, str) else (entry.get("text"), entry.get("status"))
    line = one_line(text) if isinstance(text, str) else ""
    if not line:
        raise RefusedError("an item needs a text")
    status = status_of(word or "pending")
    if status not in (ItemStatus.PENDING, ItemStatus.IN_PROGRESS):
        raise RefusedError(f"an item starts as pending or in_progress, not '{status}'; use checklist_edit")
    return Item(item_id, line, ItemStatus(status))


def edit(current: Checklist, change: Edit, tasks: TaskLookup) -> tuple[Checklist, Item | None]:
    """The list with one item changed, and that item (None when it left the list). Raises: RefusedError."""
    item = next((item for item in current.items if item.id == change.id), None)
    if item is None:
        raise RefusedError(f"there is no open item {change.id}")
    text = item.text if change.text is None else one_line(change.text)
    if not text:
        raise RefusedError("an item needs a text")
    reason = one_line(change.reason) if change.reason is not None else None
    status = _status_asked(change)
    if status in CLOSING:
        _check_closing(status, reason, change)
        return replace(current, items=tuple(each for each in current.items if each.id != item.id)), None
    changed = _changed(replace(item, text=text), status, reason, change, tasks)
    items = tuple(changed if each.id == item.id else each for each in current.items)
    return replace(current, items=items), changed


def _status_asked(change: Edit) -> str | None:
    """The status that a change names. Raises: RefusedError for no such word, or when nothing is asked."""
    if change.status is None:
        if change.reason is None and change.task is None and change.text is None:
            raise RefusedError("nothing is to be changed: give a status, a reason, a task or a text")
        return None
    status = status_of(change.status)
    if status not in (*ItemStatus, *CLOSING):
        raise RefusedError(
            f"'{change.status}' is no status; use pending, in_progress, deferred, completed or canceled"
        )
    return status


def _check_closing(status: str | None, reason: str | None, change: Edit) -> None:
    if status == "canceled" and not reason:
        raise RefusedError("canceling an item needs a `reason`")
    if status == "completed" and reason:
        raise RefusedError("a completed item takes no `reason`")
    if change.task:
        raise RefusedError("`task` goes with the status deferred alone")


def _changed(item: Item, status: str | None, reason: str | None, change: Edit, tasks: TaskLookup) -> Item:
    if status == ItemStatus.DEFERRED or (status is None and (reason or change.task)):
        if status is None and item.status is not ItemStatus.DEFERRED:
            raise RefusedError("`reason` and `task` go with the status deferred (or a reason with canceled)")
        return _deferred(item, reason, change, tasks)
    if reason or change.task:
        raise RefusedError(f"the status {status} takes neither `reason` nor `task`")
    if status is None:
        return item
    return replace(item, status=ItemStatus(status), reason=None, task=None, reopened=False)


def _deferred(item: Item, reason: str | None, change: Edit, tasks: TaskLookup) -> Item:
    """A deferral states what the item waits on: a new reason without a task drops the old task."""
    standing = reason or (item.reason if item.status is ItemStatus.DEFERRED else None)
    if not standing:
        raise RefusedError("deferring an item needs a `reason`: what it waits on")
    task = None if reason else item.task
    if change.task:
        task = tasks.resolve(change.task)
        if task is None:
            raise RefusedError(f"no background task of this session is named '{change.task}'")
    if task is not None and tasks.is_reported(task):
        raise RefusedError(
            f"task {task[:8]} has already reported, so nothing is left to wait on; finish the item, "
            "or defer it for another reason"
        )
    return replace(item, status=ItemStatus.DEFERRED, reason=standing, task=task, reopened=False)


@dataclass(slots=True)
class _Fold:
    """The list as it builds up along a conversation."""

    tasks: TaskLookup
    current: Checklist = field(default_factory=Checklist)
    asked: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)

    def read(self, message: Message) -> None:
        for call in message.calls:
            if call.name in TOOLS:
                self.asked[call.id] = (call.name, call.input)
        for block in message.content:
            if isinstance(block, ToolResult):
                call_made = self.asked.pop(block.tool_use_id, None)
                if call_made is not None and not block.is_error:
                    self._apply(*call_made)
            elif isinstance(block, BackgroundReport):
                self._reopen(block.task_ids)

    def _apply(self, name: str, given: Mapping[str, Any]) -> None:
        try:
            if name == "checklist_add":
                self.current, _ = add(self.current, given["items"])
            elif name == "checklist_edit":
                self.current, _ = edit(self.current, read_edit(given), self.tasks)
        except RefusedError:
            # The call was let in when it was made; a task may have reported since.
            return

    def _reopen(self, task_ids: Sequence[str]) -> None:
        """A task that a fork left behind, or whose prefix fits several by now, has its prefix alone."""
        items = tuple(
            replace(item, reopened=True) if _names_any(item.task, task_ids) else item
            for item in self.current.items
        )
        self.current = replace(self.current, items=items)


def _names_any(task: str | None, task_ids: Sequence[str]) -> bool:
    return task is not None and any(task_id.startswith(task) for task_id in task_ids)


class _AnyTask(TaskLookup):
    """Tasks as they stood when a call was let in: what was named was there, and had not reported."""

    def __init__(self, resolve: Callable[[str], str | None]) -> None:
        self._resolve = resolve

    def resolve(self, prefix: str) -> str | None:
        return self._resolve(prefix) or prefix


def fold(
    messages: Iterable[Message],
    resolve: Callable[[str], str | None] = lambda _prefix: None,
    start: Checklist | None = None,
) -> Checklist:
    """The list that a conversation adds up to, from `start` (a compaction's) on."""
    folding = _Fold(_AnyTask(resolve), start or Checklist())
    for message in messages:
        folding.read(message)
    return folding.current


def read_edit(given: Mapping[str, Any]) -> Edit:
    """The arguments of a `checklist_edit`; empty strings count as absent."""
    words = {name: given.get(name) or None for name in ("status", "reason", "task")}
    return Edit(int(given["id"]), text=given.get("text"), **words)


def render(current: Checklist) -> str:
    """The list as the model reads it."""
    if not current.items:
        return "(no open items)"
    return "\n".join(f"- {item.id} ({_state_text(item)}): {item.text}" for item in current.items)


def _state_text(item: Item) -> str:
    if item.status is not ItemStatus.DEFERRED:
        return item.status.value
    if item.task is None:
        return f"deferred: {item.reason}"
    if item.reopened:
        return f"open again, task {item.task[:8]} has reported; was deferred: {item.reason}"
    return f"deferred until task {item.task[:8]} reports: {item.reason}"


def view(current: Checklist) -> list[dict[str, Any]]:
    """The list as clients read it: a reopened item is pending to them."""
    return [_item_view(item) for item in current.items]


def _item_view(item: Item) -> dict[str, Any]:
    if item.reopened:
        return {"id": item.id, "text": item.text, "status": ItemStatus.PENDING.value}
    shown: dict[str, Any] = {"id": item.id, "text": item.text, "status": item.status.value}
    if item.reason is not None:
        shown["reason"] = item.reason
    if item.task is not None:
        shown["task"] = item.task
    return shown


def nudge_text(current: Checklist) -> str:
    """The message that sends the agent back to its list."""
    held = "\n".join(f"- {item.id} ({_state_text(item)}): {item.text}" for item in current.held)
    resting = [item for item in current.items if not item.holds]
    aside = "\n".join(f"- {item.id} ({_state_text(item)}): {item.text}" for item in resting)
    return (
        "You replied without calling a tool while items on your checklist are open:\n"
        f"{held}\n\n"
        "The turn cannot end like this. For each item: do it and complete it with checklist_edit; or cancel "
        "it with a reason; or, only where it cannot proceed now because it waits on a person, an event or an "
        "explicit later, defer it with a reason. An item is never deferred because it is hard or tedious."
        + (f"\n\nFor reference, deferred:\n{aside}" if aside else "")
    )


def count_text(current: Checklist) -> str:
    """`1 open item`, `2 open items`: those that hold the turn."""
    count = len(current.held)
    return f"{count} open item{'' if count == 1 else 's'}"


def to_record(current: Checklist) -> dict[str, Any]:
    """The list as a compaction's boundary keeps it."""
    items = [{name: getattr(item, name) for name in _RECORDED} for item in current.items]
    return {"items": items, "next_id": current.next_id}


def from_record(record: Mapping[str, Any]) -> Checklist:
    """The list that was recorded; an empty record is an empty list."""
    items = (Item(**(each | {"status": ItemStatus(each["status"])})) for each in record.get("items", ()))
    return Checklist(tuple(items), record.get("next_id", 1))

"""GENERATED from openapi.yaml by tools/codegen; edit the document, then run `make gen`."""

from collections.abc import Mapping
from typing import NamedTuple


class EventKind(NamedTuple):
    """One kind of event.

    A numbered one has an id and is replayed; a terminal one is the last of its turn. `feeds` are those that
    carry it: `turn`, `session`, `subagent`, `server`.
    """

    name: str
    numbered: bool
    terminal: bool
    feeds: tuple[str, ...]


EVENTS: Mapping[str, EventKind] = {
    "turn.started": EventKind(
        "turn.started",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "turn.finished": EventKind(
        "turn.finished",
        numbered=True,
        terminal=True,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "turn.failed": EventKind(
        "turn.failed",
        numbered=True,
        terminal=True,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "turn.canceled": EventKind(
        "turn.canceled",
        numbered=True,
        terminal=True,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "turn.nudged": EventKind(
        "turn.nudged",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "message.appended": EventKind(
        "message.appended",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "assistant_text.delta": EventKind(
        "assistant_text.delta",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "thinking.delta": EventKind(
        "thinking.delta",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "tool_call.composing": EventKind(
        "tool_call.composing",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "tool_call.executing": EventKind(
        "tool_call.executing",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "tool_call.output_delta": EventKind(
        "tool_call.output_delta",
        numbered=False,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "tool_call.completed": EventKind(
        "tool_call.completed",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "notice": EventKind(
        "notice",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "task.reported": EventKind(
        "task.reported",
        numbered=True,
        terminal=False,
        feeds=("turn", "session"),
    ),
    "permission_required": EventKind(
        "permission_required",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "permission_resolved": EventKind(
        "permission_resolved",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent", "server"),
    ),
    "checklist.updated": EventKind(
        "checklist.updated",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "context.compacting": EventKind(
        "context.compacting",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "context.compacted": EventKind(
        "context.compacted",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "context.compaction_failed": EventKind(
        "context.compaction_failed",
        numbered=True,
        terminal=False,
        feeds=("turn", "session", "subagent"),
    ),
    "conversation.rewound": EventKind(
        "conversation.rewound",
        numbered=True,
        terminal=False,
        feeds=("session",),
    ),
    "inbox.delivered": EventKind(
        "inbox.delivered",
        numbered=True,
        terminal=False,
        feeds=("turn", "session"),
    ),
    "inbox.deferred": EventKind(
        "inbox.deferred",
        numbered=True,
        terminal=False,
        feeds=("session",),
    ),
    "inbox.failed": EventKind(
        "inbox.failed",
        numbered=True,
        terminal=False,
        feeds=("session",),
    ),
    "inbox.withdrawn": EventKind(
        "inbox.withdrawn",
        numbered=True,
        terminal=False,
        feeds=("session",),
    ),
    "session.created": EventKind(
        "session.created",
        numbered=True,
        terminal=False,
        feeds=("server",),
    ),
    "session.updated": EventKind(
        "session.updated",
        numbered=True,
        terminal=False,
        feeds=("session", "server"),
    ),
    "session.deleted": EventKind(
        "session.deleted",
        numbered=True,
        terminal=False,
        feeds=("server",),
    ),
    "feed.gap": EventKind(
        "feed.gap",
        numbered=False,
        terminal=False,
        feeds=("turn", "session", "subagent", "server"),
    ),
}

"""GENERATED from openapi.yaml by tools/clients: what the feeds carry."""

from collections.abc import Mapping
from typing import Any

from . import models

MODELS: Mapping[str, Any] = {
    "turn.started": models.TurnStartedEvent,
    "turn.finished": models.TurnFinishedEvent,
    "turn.failed": models.TurnFailedEvent,
    "turn.canceled": models.TurnCanceledEvent,
    "turn.nudged": models.TurnNudgedEvent,
    "message.appended": models.MessageAppendedEvent,
    "assistant_text.delta": models.TextDeltaEvent,
    "thinking.delta": models.TextDeltaEvent,
    "tool_call.composing": models.ToolCallComposingEvent,
    "tool_call.executing": models.ToolCallExecutingEvent,
    "tool_call.output_delta": models.ToolCallOutputDeltaEvent,
    "tool_call.completed": models.ToolCallCompletedEvent,
    "notice": models.NoticeEvent,
    "task.reported": models.TaskReportedEvent,
    "permission_required": models.PermissionRequiredEvent,
    "permission_resolved": models.PermissionResolvedEvent,
    "checklist.updated": models.ChecklistUpdatedEvent,
    "context.compacting": models.ContextCompactingEvent,
    "context.compacted": models.ContextCompactedEvent,
    "context.compaction_failed": models.ContextCompactionFailedEvent,
    "conversation.rewound": models.ConversationRewoundEvent,
    "inbox.delivered": models.InboxDeliveredEvent,
    "inbox.deferred": models.InboxDeferredEvent,
    "inbox.failed": models.InboxFailedEvent,
    "inbox.withdrawn": models.InboxWithdrawnEvent,
    "session.created": models.SessionRecordEvent,
    "session.updated": models.SessionRecordEvent,
    "session.deleted": models.SessionDeletedEvent,
    "feed.gap": models.FeedGapEvent,
}

TERMINAL = frozenset(
    {
        "turn.finished",
        "turn.failed",
        "turn.canceled",
    }
)

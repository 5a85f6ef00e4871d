"""How sessions, turns and messages are shown: the only renderings, used by answers and events alike."""

from collections.abc import Mapping
from typing import Any

from meka.agent.checklist import view as checklist_view
from meka.agent.conversation import Entry
from meka.agent.keeping import is_summary
from meka.agent.turn import Ending, Turn
from meka.agent.views import message_view, messages_view, usage_view
from meka.base.clock import rfc3339
from meka.service.checklists import checklist_of
from meka.service.runtime import SessionRuntime
from meka.store.inbox import InboxRow, ItemState
from meka.store.sessions import SessionRow
from meka.store.tasks import TaskRow
from meka.store.turns import TurnRow

CAPABILITY_DEFAULTS: Mapping[str, bool] = {
    "supports_reasoning_stream": False,
    "supports_permission_prompts": True,
    "answers_prompts_on_return": False,
    "supports_elicitation": False,
}


def session_view(row: SessionRow, runtime: SessionRuntime | None) -> dict[str, Any]:
    """The session record. What is live overrides the row: a level can be in force before it is stored."""
    live = runtime.row if runtime is not None else row
    optional: dict[str, Any] = {
        "working_directory": live.working_directory or None,
        "permission": live.permission or None,
        "pinned_at": rfc3339(row.pinned_at) if row.pinned_at else None,
        "parent_id": row.parent_id,
        "last_turn": turn_view(row.last_turn) if row.last_turn else None,
        "approvals_pending": len(runtime.parked) if runtime is not None else None,
        "checklist": checklist_view(checklist_of(runtime)) if runtime is not None else None,
    }
    return {
        "id": row.id,
        "created_at": rfc3339(row.created_at),
        "updated_at": rfc3339(row.updated_at),
        "approvals": live.approvals,
        "profile": row.profile,
        "project": row.project,
        "title": row.title or row.first_words or "",
        "capabilities": {**CAPABILITY_DEFAULTS, **row.capabilities},
        "turn_in_flight": runtime is not None and runtime.active is not None,
    } | {name: value for name, value in optional.items() if value is not None}


def turn_view(row: TurnRow) -> dict[str, Any]:
    """The turn record."""
    view: dict[str, Any] = {
        "id": row.id,
        "source": row.source,
        "started_at": rfc3339(row.started_at),
        "permission": row.permission,
        "usage": {
            "input_tokens": row.usage.input_tokens,
            "output_tokens": row.usage.output_tokens,
            "cache_creation_input_tokens": row.usage.cache_creation_input_tokens,
            "cache_read_input_tokens": row.usage.cache_read_input_tokens,
        },
    }
    if row.ended_at is not None:
        view |= {"ended_at": rfc3339(row.ended_at), "status": row.status}
    if row.stop_reason is not None:
        view["stop_reason"] = row.stop_reason
    if row.error_type is not None:
        view["error"] = {"type": row.error_type, "detail": row.error_detail}
    if row.profile is not None:
        view["profile"] = row.profile
    return view


def task_view(row: TaskRow) -> dict[str, Any]:
    """A background task's record."""
    optional = {
        "finished_at": rfc3339(row.finished_at) if row.finished_at else None,
        "outcome": row.outcome,
        "scratchpad_entry": row.scratchpad_entry,
        "announced_at": rfc3339(row.announced_at) if row.announced_at else None,
        "delivered_at": rfc3339(row.delivered_at) if row.delivered_at else None,
        "subagent_id": row.subagent_id,
    }
    return {
        "id": row.id,
        "session_id": row.session_id,
        "tool": row.tool,
        "label": row.label,
        "status": row.status.value,
        "started_at": rfc3339(row.started_at),
    } | {name: value for name, value in optional.items() if value is not None}


def item_view(row: InboxRow) -> dict[str, Any]:
    """An inbox item the model has not been shown."""
    waits = row.state is ItemState.PENDING
    optional = {
        "source": row.source,
        "appended_at": rfc3339(row.appended_at) if row.appended_at else None,
        "not_before": rfc3339(row.not_before) if waits and row.not_before else None,
        "last_error": row.last_error if waits else None,
    }
    return {
        "id": row.id,
        "session_id": row.session_id,
        "class": row.class_,
        "state": row.state.value,
        "created_at": rfc3339(row.created_at),
        "retry_until": rfc3339(row.retry_until),
    } | {name: value for name, value in optional.items() if value is not None}


def turn_response(turn: Turn, ending: Ending, *, with_thinking: bool) -> dict[str, Any]:
    """The answer of a held JSON turn that succeeded."""
    view: dict[str, Any] = {
        "turn_id": turn.id,
        "session_id": turn.session_id,
        "stop_reason": ending.stop_reason.value if ending.stop_reason else None,
        "messages": messages_view([entry.message for entry in turn.entries], with_thinking=with_thinking),
        "usage": usage_view(ending.usage),
        "notices": list(turn.notices),
    }
    return view | ({"refusal_text": ending.refusal_text} if ending.refusal_text else {})


def entry_view(entry: Entry, label: str) -> dict[str, Any]:
    """A message of the history."""
    view = message_view(entry.message) | {"created_at": rfc3339(entry.created_at)}
    if entry.turn_id is not None:
        view["turn_id"] = entry.turn_id
    if label:
        view["turn_label"] = label
    if is_summary(entry):
        view["compaction"] = dict((entry.meta or {})["compaction"])
    return view

"""Background tasks: a row when one starts, its outcome once it has one; only a running one can finish."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from meka.store.codec import from_micros, optional_moment, to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, TASKS


class TaskStatus(StrEnum):
    """How a task stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task. `announced_at`: its webhook was stamped; `delivered_at`: the agent was told of its end."""

    id: str
    session_id: str
    tool: str
    label: str
    status: TaskStatus
    started_at: datetime
    finished_at: datetime | None = None
    outcome: str | None = None
    scratchpad_entry: str | None = None
    announced_at: datetime | None = None
    delivered_at: datetime | None = None
    subagent_id: str | None = None


def start(tx: Tx, session_id: str, task_id: str, *, tool: str, label: str) -> TaskRow:
    """Add a task that runs from now on."""
    row = TaskRow(task_id, session_id, tool, label, TaskStatus.RUNNING, tx.now())
    tx.execute(
        TASKS.insert(
            {
                TASKS.id: row.id,
                TASKS.session_id: session_id,
                TASKS.tool: tool,
                TASKS.label: label,
                TASKS.status: row.status.value,
                TASKS.started_at: to_micros(row.started_at),
            }
        )
    )
    return row


def finish(
    tx: Tx,
    task_id: str,
    status: TaskStatus,
    *,
    outcome: str | None = None,
    scratchpad_entry: str | None = None,
) -> bool:
    """End a running task; False, and nothing done, when it has ended already."""
    values = {
        TASKS.status: status.value,
        TASKS.finished_at: to_micros(tx.now()),
        TASKS.outcome: outcome,
        TASKS.scratchpad_entry: scratchpad_entry,
    }
    running = (TASKS.id == task_id) & (TASKS.status == TaskStatus.RUNNING.value)
    return tx.execute(TASKS.update(values).where(running)) > 0


def interrupt_running(tx: Tx, session_id: str) -> list[str]:
    """End what a process that is gone left running in a session. Shape: the tasks' ids."""
    running = [row.id for row in of_session(tx, session_id) if row.status is TaskStatus.RUNNING]
    for task_id in running:
        finish(tx, task_id, TaskStatus.INTERRUPTED)
    return running


def unreported(tx: Tx, session_id: str) -> list[TaskRow]:
    """The ended tasks the agent was not told of, oldest first."""
    where = (
        (TASKS.session_id == session_id)
        & TASKS.delivered_at.is_null()
        & (TASKS.status != TaskStatus.RUNNING.value)
    )
    return [_task(row) for row in tx.rows(TASKS.select(ALL).where(where).order_by(TASKS.seq))]


def mark_reported(tx: Tx, task_ids: Sequence[str]) -> None:
    """The agent was told of these tasks' ends."""
    told = {TASKS.delivered_at: to_micros(tx.now())}
    tx.execute(TASKS.update(told).where(TASKS.id.in_(list(task_ids)) & TASKS.delivered_at.is_null()))


def has_unreported(tx: Tx, session_id: str, *, opening: bool = False) -> bool:
    """Whether an ended task is still to be told of; `opening` leaves out what opens no turn (canceled)."""
    passed = ["running", "canceled"] if opening else ["running"]
    query = TASKS.select(TASKS.id).where(
        (TASKS.session_id == session_id) & TASKS.delivered_at.is_null() & TASKS.status.not_in(passed)
    )
    return tx.row(query.limit(1)) is not None


def unreported_sessions(tx: Tx) -> list[str]:
    """The sessions that a task's end would open a turn in."""
    rows = tx.sql(
        """SELECT DISTINCT session_id FROM background_tasks
        WHERE delivered_at IS NULL AND status NOT IN ('running', 'canceled')"""
    )
    return [row[0] for row in rows]


def running_sessions(tx: Tx) -> list[str]:
    """The sessions that have a row of a running task."""
    rows = tx.sql("SELECT DISTINCT session_id FROM background_tasks WHERE status = 'running'")
    return [row[0] for row in rows]


def get(tx: Tx, session_id: str, task_id: str) -> TaskRow | None:
    """One task of a session."""
    row = tx.row(TASKS.select(ALL).where((TASKS.id == task_id) & (TASKS.session_id == session_id)))
    return None if row is None else _task(row)


def of_session(tx: Tx, session_id: str) -> list[TaskRow]:
    """A session's tasks, newest first."""
    query = TASKS.select(ALL).where(TASKS.session_id == session_id).order_by(TASKS.seq.desc())
    return [_task(row) for row in tx.rows(query)]


def everywhere(tx: Tx, status: TaskStatus | None = None) -> Sequence[TaskRow]:
    """Every session's tasks, newest first, of one status where one is named."""
    query = TASKS.select(ALL).order_by(TASKS.seq.desc())
    if status is not None:
        query = query.where(TASKS.status == status.value)
    return [_task(row) for row in tx.rows(query)]


def _task(row: Mapping[str, Any]) -> TaskRow:
    return TaskRow(
        id=row["id"],
        session_id=row["session_id"],
        tool=row["tool"],
        label=row["label"],
        status=TaskStatus(row["status"]),
        started_at=from_micros(row["started_at"]),
        finished_at=optional_moment(row["finished_at"]),
        outcome=row["outcome"],
        scratchpad_entry=row["scratchpad_entry"],
        announced_at=optional_moment(row["announced_at"]),
        delivered_at=optional_moment(row["delivered_at"]),
        subagent_id=row["subagent_id"],
    )

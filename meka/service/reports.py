"""What the agent is told of background tasks that have ended."""

from collections.abc import Sequence
from datetime import datetime

from meka.agent.blocks import BackgroundReport
from meka.base.text import one_line
from meka.store.tasks import TaskRow, TaskStatus

_ENDINGS = {
    TaskStatus.COMPLETED: "completed",
    TaskStatus.FAILED: "failed",
    TaskStatus.CANCELED: "was canceled",
    TaskStatus.INTERRUPTED: "was interrupted when its process ended",
}


def report_block(tasks: Sequence[TaskRow], now: datetime) -> BackgroundReport:
    """The outcomes of ended tasks, as one block."""
    moment = now.astimezone()
    head = "A background task has ended" if len(tasks) == 1 else f"{len(tasks)} background tasks have ended"
    lines = [
        f"[{head}, {moment:%Y-%m-%d %H:%M}]",
        "Pick up the work that waited on this, if it still matters.",
    ]
    lines += [_line(task) for task in tasks]
    return BackgroundReport("\n".join(lines), tuple(task.id for task in tasks))


def _line(task: TaskRow) -> str:
    span = ""
    if task.finished_at is not None:
        span = f" after {(task.finished_at - task.started_at).total_seconds():.0f} s"
    line = f"- **{task.id[:8]}** {task.label}: {_ENDINGS[task.status]}{span}."
    if task.scratchpad_entry is not None:
        line = f"{line} Its outcome is in the scratchpad as '{one_line(task.scratchpad_entry)}'."
    return f"{line}\n{task.outcome}" if task.outcome else line

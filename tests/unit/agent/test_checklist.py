"""The checklist's rules: what is let in, what is refused whole, and what the log adds up to."""

from typing import Any

import pytest

from meka.agent.blocks import BackgroundReport, Message, Role, Text, ToolResult, ToolUse
from meka.agent.checklist import (
    Checklist,
    Edit,
    ItemStatus,
    RefusedError,
    TaskLookup,
    add,
    edit,
    fold,
    nudge_text,
    render,
    status_of,
    view,
)

TASK, OTHER = "aaaa1111-0000-4000-8000-000000000001", "bbbb2222-0000-4000-8000-000000000002"


class Tasks(TaskLookup):
    """Two tasks; those in `reported` have been told of."""

    def __init__(self, *reported: str) -> None:
        self.reported = reported

    def resolve(self, prefix: str) -> str | None:
        found = [task for task in (TASK, OTHER) if task.startswith(prefix)]
        return found[0] if len(found) == 1 else None

    def is_reported(self, task_id: str) -> bool:
        return task_id in self.reported


def listed(*texts: Any) -> Checklist:
    return add(Checklist(), texts)[0]


def change(current: Checklist, tasks: TaskLookup | None = None, **asked: Any) -> Checklist:
    return edit(current, Edit(**{"id": 1, **asked}), tasks or Tasks())[0]


def deferred(**asked: Any) -> Checklist:
    return change(listed("x"), status="deferred", **{"reason": "later", **asked})


def test_ids_rise_and_are_never_used_again() -> None:
    current = change(listed("a", "b"), id=2, status="completed")
    current, added = add(current, ["c"])
    assert [item.id for item in added] == [3]
    assert [item.id for item in current.items] == [1, 3]


@pytest.mark.parametrize(
    "items",
    [[], [""], ["  \n"], [{"text": "x", "status": "done"}], ["fine", {"text": "x", "status": "deferred"}]],
)
def test_add_is_refused_whole(items: list[Any]) -> None:
    with pytest.raises(RefusedError):
        add(Checklist(), items)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("WIP", "in_progress"), ("started", "in_progress"), ("in-progress", "in_progress"),
        ("waiting", "deferred"), ("blocked", "deferred"), ("later", "deferred"), ("paused", "deferred"),
        ("done", "completed"), ("complete", "completed"), ("finished", "completed"),
        ("cancelled", "canceled"), ("skipped", "canceled"), ("dropped", "canceled"), ("wontfix", "canceled"),
    ],
)  # fmt: skip
def test_usual_other_words_are_understood(word: str, status: str) -> None:
    assert status_of(word) == status


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"id": 7, "status": "completed"},
        {"status": "canceled"},
        {"status": "completed", "reason": "x"},
        {"status": "completed", "task": TASK},
        {"status": "pending", "reason": "x"},
        {"status": "in_progress", "task": TASK},
        {"status": "nonsense", "text": "new"},
        {"status": "deferred"},
        {"status": "deferred", "task": TASK},
        {"status": "deferred", "reason": "x", "task": "cccc"},
        {"reason": "x"},
        {"task": TASK},
        {"text": " "},
    ],
)
def test_edit_with_anything_wrong_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        change(listed("x"), **asked)


@pytest.mark.parametrize(("status", "reason"), [("completed", None), ("canceled", "not needed")])
def test_disposed_of_items_leave_the_list(status: str, reason: str | None) -> None:
    assert change(listed("x"), status=status, reason=reason).items == ()


def test_deferral_takes_a_tasks_prefix_and_does_not_hold_the_turn() -> None:
    current = deferred(reason="the\nbuild", task="aaaa")
    assert view(current) == [
        {"id": 1, "text": "x", "status": "deferred", "reason": "the build", "task": TASK}
    ]
    assert current.held == ()
    assert "deferred until task aaaa1111 reports: the build" in render(current)


def test_deferral_on_a_task_that_has_reported_is_refused() -> None:
    with pytest.raises(RefusedError, match="already reported"):
        change(listed("x"), Tasks(TASK), status="deferred", reason="x", task="aaaa")


def test_new_reason_states_afresh_what_an_item_waits_on() -> None:
    assert view(change(deferred(task="aaaa"), Tasks(TASK), status="deferred", reason="Sam"))[0] == {
        "id": 1, "text": "x", "status": "deferred", "reason": "Sam"
    }  # fmt: skip
    moved = change(deferred(task="aaaa"), Tasks(TASK), status="deferred", reason="more", task="bbbb")
    assert moved.items[0].task == OTHER


def test_repeated_deferral_that_gives_neither_keeps_both_unless_the_task_has_reported() -> None:
    current = deferred(task="aaaa")
    assert change(current, status="deferred") == current
    with pytest.raises(RefusedError, match="already reported"):
        change(current, Tasks(TASK), status="deferred")


def test_picking_an_item_up_drops_what_it_waited_on() -> None:
    (item,) = change(deferred(task="aaaa"), status="wip").items
    assert (item.status, item.reason, item.task) == (ItemStatus.IN_PROGRESS, None, None)


def test_text_alone_edits_the_text() -> None:
    (item,) = change(deferred(task="aaaa"), text="y\n z").items
    assert (item.text, item.status, item.task) == ("y z", ItemStatus.DEFERRED, TASK)


def calls(*made: tuple[str, dict[str, Any], bool]) -> list[Message]:
    """A round of calls, each with whether it went through."""
    uses = tuple(ToolUse(f"c{n}", name, given) for n, (name, given, _) in enumerate(made))
    results = tuple(ToolResult(f"c{n}", not ok, (Text("..."),)) for n, (_, _, ok) in enumerate(made))
    return [Message(Role.ASSISTANT, uses), Message(Role.USER, results)]


def report(*task_ids: str) -> Message:
    return Message(Role.USER, (BackgroundReport("ended", task_ids),))


ADDED = calls(("checklist_add", {"items": ["x", "y"]}, True))
WAITING = calls(("checklist_edit", {"id": 1, "status": "deferred", "reason": "r", "task": "aaaa"}, True))


def test_list_is_what_the_calls_that_went_through_add_up_to() -> None:
    failed = calls(("checklist_add", {"items": ["never"]}, False))
    done = calls(("checklist_edit", {"id": 2, "status": "done"}, True), ("checklist_read", {}, True))
    assert [item.text for item in fold([*ADDED, *failed, *done]).items] == ["x"]


def test_call_without_a_result_counts_for_nothing() -> None:
    assert fold(ADDED[:1]).items == ()


@pytest.mark.parametrize("resolved", [TASK, None], ids=["known task", "known by its prefix"])
def test_report_reopens_what_waited_on_its_task(resolved: str | None) -> None:
    current = fold([*ADDED, *WAITING, report(OTHER)], lambda _: resolved)
    assert [item.id for item in current.held] == [2]
    current = fold([*ADDED, *WAITING, report(OTHER, TASK)], lambda _: resolved)
    assert [item.id for item in current.held] == [1, 2]
    assert view(current)[0] == {"id": 1, "text": "x", "status": "pending"}
    assert "task aaaa1111 has reported" in nudge_text(current) or resolved is None


def test_item_deferred_again_after_the_report_rests() -> None:
    again = calls(("checklist_edit", {"id": 1, "status": "deferred", "reason": "Sam"}, True))
    assert [item.id for item in fold([*ADDED, *WAITING, report(TASK), *again]).held] == [2]


def test_fold_goes_on_from_where_a_compaction_left_off() -> None:
    assert [item.id for item in fold(ADDED, start=listed("earlier")).items] == [1, 2, 3]


def test_nudge_lists_what_holds_and_what_rests() -> None:
    text = nudge_text(fold([*ADDED, *WAITING], lambda _: TASK))
    assert "- 2 (pending): y" in text.partition("For reference")[0]
    assert "- 1 (deferred" in text.partition("For reference")[2]
    for way in ("complete it", "cancel it with a reason", "defer it with a reason", "hard or tedious"):
        assert way in text.replace("\n", " ")

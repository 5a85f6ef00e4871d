from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.task_status import TaskStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="BackgroundTaskView")


@_attrs_define
class BackgroundTaskView:
    """A call that runs on in the background.

    Attributes:
        id (str):
        session_id (UUID):
        tool (str):
        label (str): The call in a few words.
        status (TaskStatus): How a task stands; `interrupted` is one whose process went away.
        started_at (datetime.datetime):
        finished_at (datetime.datetime | Unset):
        outcome (str | Unset): What it gave, or what there is to say beside what is in the scratchpad.
        scratchpad_entry (str | Unset): The entry that holds a long outcome, or one that its call wanted kept.
        announced_at (datetime.datetime | Unset): When the webhook was told of its end.
        delivered_at (datetime.datetime | Unset): When the model was told of its end.
        subagent_id (UUID | Unset): The sub-agent's session that it runs.
    """

    id: str
    session_id: UUID
    tool: str
    label: str
    status: TaskStatus
    started_at: datetime.datetime
    finished_at: datetime.datetime | Unset = UNSET
    outcome: str | Unset = UNSET
    scratchpad_entry: str | Unset = UNSET
    announced_at: datetime.datetime | Unset = UNSET
    delivered_at: datetime.datetime | Unset = UNSET
    subagent_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        session_id = str(self.session_id)

        tool = self.tool

        label = self.label

        status = self.status.value

        started_at = self.started_at.isoformat()

        finished_at: str | Unset = UNSET
        if not isinstance(self.finished_at, Unset):
            finished_at = self.finished_at.isoformat()

        outcome = self.outcome

        scratchpad_entry = self.scratchpad_entry

        announced_at: str | Unset = UNSET
        if not isinstance(self.announced_at, Unset):
            announced_at = self.announced_at.isoformat()

        delivered_at: str | Unset = UNSET
        if not isinstance(self.delivered_at, Unset):
            delivered_at = self.delivered_at.isoformat()

        subagent_id: str | Unset = UNSET
        if not isinstance(self.subagent_id, Unset):
            subagent_id = str(self.subagent_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "session_id": session_id,
                "tool": tool,
                "label": label,
                "status": status,
                "started_at": started_at,
            }
        )
        if finished_at is not UNSET:
            field_dict["finished_at"] = finished_at
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if scratchpad_entry is not UNSET:
            field_dict["scratchpad_entry"] = scratchpad_entry
        if announced_at is not UNSET:
            field_dict["announced_at"] = announced_at
        if delivered_at is not UNSET:
            field_dict["delivered_at"] = delivered_at
        if subagent_id is not UNSET:
            field_dict["subagent_id"] = subagent_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        session_id = UUID(d.pop("session_id"))

        tool = d.pop("tool")

        label = d.pop("label")

        status = TaskStatus(d.pop("status"))

        started_at = datetime.datetime.fromisoformat(d.pop("started_at"))

        _finished_at = d.pop("finished_at", UNSET)
        finished_at: datetime.datetime | Unset
        if isinstance(_finished_at, Unset):
            finished_at = UNSET
        else:
            finished_at = datetime.datetime.fromisoformat(_finished_at)

        outcome = d.pop("outcome", UNSET)

        scratchpad_entry = d.pop("scratchpad_entry", UNSET)

        _announced_at = d.pop("announced_at", UNSET)
        announced_at: datetime.datetime | Unset
        if isinstance(_announced_at, Unset):
            announced_at = UNSET
        else:
            announced_at = datetime.datetime.fromisoformat(_announced_at)

        _delivered_at = d.pop("delivered_at", UNSET)
        delivered_at: datetime.datetime | Unset
        if isinstance(_delivered_at, Unset):
            delivered_at = UNSET
        else:
            delivered_at = datetime.datetime.fromisoformat(_delivered_at)

        _subagent_id = d.pop("subagent_id", UNSET)
        subagent_id: UUID | Unset
        if isinstance(_subagent_id, Unset):
            subagent_id = UNSET
        else:
            subagent_id = UUID(_subagent_id)

        background_task_view = cls(
            id=id,
            session_id=session_id,
            tool=tool,
            label=label,
            status=status,
            started_at=started_at,
            finished_at=finished_at,
            outcome=outcome,
            scratchpad_entry=scratchpad_entry,
            announced_at=announced_at,
            delivered_at=delivered_at,
            subagent_id=subagent_id,
        )

        background_task_view.additional_properties = d
        return background_task_view

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties

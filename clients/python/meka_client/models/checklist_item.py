from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.checklist_status import ChecklistStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="ChecklistItem")


@_attrs_define
class ChecklistItem:
    """
    Attributes:
        id (int):
        text (str):
        status (ChecklistStatus):
        reason (str | Unset): Why it is deferred; on every deferred item.
        task (str | Unset): The background task it waits on, as the model named it.
    """

    id: int
    text: str
    status: ChecklistStatus
    reason: str | Unset = UNSET
    task: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        text = self.text

        status = self.status.value

        reason = self.reason

        task = self.task

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "text": text,
                "status": status,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason
        if task is not UNSET:
            field_dict["task"] = task

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        text = d.pop("text")

        status = ChecklistStatus(d.pop("status"))

        reason = d.pop("reason", UNSET)

        task = d.pop("task", UNSET)

        checklist_item = cls(
            id=id,
            text=text,
            status=status,
            reason=reason,
            task=task,
        )

        checklist_item.additional_properties = d
        return checklist_item

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

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.checklist_item import ChecklistItem


T = TypeVar("T", bound="ChecklistUpdatedEvent")


@_attrs_define
class ChecklistUpdatedEvent:
    """
    Attributes:
        session_id (UUID):
        items (list[ChecklistItem]): All the open items; empty when the last one is done.
        turn_id (UUID | Unset): The turn in flight, if there is one.
    """

    session_id: UUID
    items: list[ChecklistItem]
    turn_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        items = []
        for items_item_data in self.items:
            items_item = items_item_data.to_dict()
            items.append(items_item)

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "items": items,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.checklist_item import ChecklistItem  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        items = []
        _items = d.pop("items")
        for items_item_data in _items:
            items_item = ChecklistItem.from_dict(items_item_data)

            items.append(items_item)

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        checklist_updated_event = cls(
            session_id=session_id,
            items=items,
            turn_id=turn_id,
        )

        checklist_updated_event.additional_properties = d
        return checklist_updated_event

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

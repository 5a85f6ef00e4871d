from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.turn_started_event_source import TurnStartedEventSource
from ..types import UNSET, Unset

T = TypeVar("T", bound="TurnStartedEvent")


@_attrs_define
class TurnStartedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        source (TurnStartedEventSource):
        started_at (datetime.datetime | Unset): Absent when `resumed`.
        resumed (bool | Unset): True on the copy that a reader gets who attaches during the turn.
        item_ids (list[UUID] | Unset): With source `inbox`.
        job_id (str | Unset): With source `schedule`.
        parent_id (UUID | Unset): With source `parent`.
        tool_call_id (str | Unset): With source `parent`.
    """

    session_id: UUID
    turn_id: UUID
    source: TurnStartedEventSource
    started_at: datetime.datetime | Unset = UNSET
    resumed: bool | Unset = UNSET
    item_ids: list[UUID] | Unset = UNSET
    job_id: str | Unset = UNSET
    parent_id: UUID | Unset = UNSET
    tool_call_id: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        source = self.source.value

        started_at: str | Unset = UNSET
        if not isinstance(self.started_at, Unset):
            started_at = self.started_at.isoformat()

        resumed = self.resumed

        item_ids: list[str] | Unset = UNSET
        if not isinstance(self.item_ids, Unset):
            item_ids = []
            for item_ids_item_data in self.item_ids:
                item_ids_item = str(item_ids_item_data)
                item_ids.append(item_ids_item)

        job_id = self.job_id

        parent_id: str | Unset = UNSET
        if not isinstance(self.parent_id, Unset):
            parent_id = str(self.parent_id)

        tool_call_id = self.tool_call_id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "source": source,
            }
        )
        if started_at is not UNSET:
            field_dict["started_at"] = started_at
        if resumed is not UNSET:
            field_dict["resumed"] = resumed
        if item_ids is not UNSET:
            field_dict["item_ids"] = item_ids
        if job_id is not UNSET:
            field_dict["job_id"] = job_id
        if parent_id is not UNSET:
            field_dict["parent_id"] = parent_id
        if tool_call_id is not UNSET:
            field_dict["tool_call_id"] = tool_call_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        source = TurnStartedEventSource(d.pop("source"))

        _started_at = d.pop("started_at", UNSET)
        started_at: datetime.datetime | Unset
        if isinstance(_started_at, Unset):
            started_at = UNSET
        else:
            started_at = datetime.datetime.fromisoformat(_started_at)

        resumed = d.pop("resumed", UNSET)

        _item_ids = d.pop("item_ids", UNSET)
        item_ids: list[UUID] | Unset = UNSET
        if _item_ids is not UNSET:
            item_ids = []
            for item_ids_item_data in _item_ids:
                item_ids_item = UUID(item_ids_item_data)

                item_ids.append(item_ids_item)

        job_id = d.pop("job_id", UNSET)

        _parent_id = d.pop("parent_id", UNSET)
        parent_id: UUID | Unset
        if isinstance(_parent_id, Unset):
            parent_id = UNSET
        else:
            parent_id = UUID(_parent_id)

        tool_call_id = d.pop("tool_call_id", UNSET)

        turn_started_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            source=source,
            started_at=started_at,
            resumed=resumed,
            item_ids=item_ids,
            job_id=job_id,
            parent_id=parent_id,
            tool_call_id=tool_call_id,
        )

        turn_started_event.additional_properties = d
        return turn_started_event

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

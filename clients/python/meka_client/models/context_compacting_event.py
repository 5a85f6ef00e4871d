from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.compaction_trigger import CompactionTrigger
from ..types import UNSET, Unset

T = TypeVar("T", bound="ContextCompactingEvent")


@_attrs_define
class ContextCompactingEvent:
    """
    Attributes:
        session_id (UUID):
        compaction_id (UUID):
        trigger (CompactionTrigger): What set it going. The measured occupancy crossed the ceiling (`reactive`), the
            next request would have (`proactive`), a client asked (`manual`), the agent asked (`requested`), the provider
            refused the request as too large (`emergency`), or a turn got too old (`retention`).
        turn_id (UUID | Unset): The turn in flight, if there is one.
    """

    session_id: UUID
    compaction_id: UUID
    trigger: CompactionTrigger
    turn_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        compaction_id = str(self.compaction_id)

        trigger = self.trigger.value

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "compaction_id": compaction_id,
                "trigger": trigger,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        compaction_id = UUID(d.pop("compaction_id"))

        trigger = CompactionTrigger(d.pop("trigger"))

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        context_compacting_event = cls(
            session_id=session_id,
            compaction_id=compaction_id,
            trigger=trigger,
            turn_id=turn_id,
        )

        context_compacting_event.additional_properties = d
        return context_compacting_event

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

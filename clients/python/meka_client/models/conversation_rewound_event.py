from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ConversationRewoundEvent")


@_attrs_define
class ConversationRewoundEvent:
    """
    Attributes:
        session_id (UUID):
        revision (int): The conversation's revision now.
        total (int): How many messages it holds now.
        turns_removed (int):
        turn_id (UUID | Unset): The turn in flight, if there is one.
    """

    session_id: UUID
    revision: int
    total: int
    turns_removed: int
    turn_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        revision = self.revision

        total = self.total

        turns_removed = self.turns_removed

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "revision": revision,
                "total": total,
                "turns_removed": turns_removed,
            }
        )
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        revision = d.pop("revision")

        total = d.pop("total")

        turns_removed = d.pop("turns_removed")

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        conversation_rewound_event = cls(
            session_id=session_id,
            revision=revision,
            total=total,
            turns_removed=turns_removed,
            turn_id=turn_id,
        )

        conversation_rewound_event.additional_properties = d
        return conversation_rewound_event

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

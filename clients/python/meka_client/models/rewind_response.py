from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RewindResponse")


@_attrs_define
class RewindResponse:
    """
    Attributes:
        session_id (UUID):
        turns_removed (int):
        messages_before (int): How many messages the conversation held.
        messages_after (int): How many it holds now.
    """

    session_id: UUID
    turns_removed: int
    messages_before: int
    messages_after: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turns_removed = self.turns_removed

        messages_before = self.messages_before

        messages_after = self.messages_after

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turns_removed": turns_removed,
                "messages_before": messages_before,
                "messages_after": messages_after,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turns_removed = d.pop("turns_removed")

        messages_before = d.pop("messages_before")

        messages_after = d.pop("messages_after")

        rewind_response = cls(
            session_id=session_id,
            turns_removed=turns_removed,
            messages_before=messages_before,
            messages_after=messages_after,
        )

        rewind_response.additional_properties = d
        return rewind_response

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

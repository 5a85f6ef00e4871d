from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.turn_record import TurnRecord


T = TypeVar("T", bound="TurnsResponse")


@_attrs_define
class TurnsResponse:
    """
    Attributes:
        session_id (UUID):
        turns (list[TurnRecord]):
        next_before (UUID | Unset): Present when there are more; pass it as `before`.
    """

    session_id: UUID
    turns: list[TurnRecord]
    next_before: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turns = []
        for turns_item_data in self.turns:
            turns_item = turns_item_data.to_dict()
            turns.append(turns_item)

        next_before: str | Unset = UNSET
        if not isinstance(self.next_before, Unset):
            next_before = str(self.next_before)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turns": turns,
            }
        )
        if next_before is not UNSET:
            field_dict["next_before"] = next_before

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.turn_record import TurnRecord  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turns = []
        _turns = d.pop("turns")
        for turns_item_data in _turns:
            turns_item = TurnRecord.from_dict(turns_item_data)

            turns.append(turns_item)

        _next_before = d.pop("next_before", UNSET)
        next_before: UUID | Unset
        if isinstance(_next_before, Unset):
            next_before = UNSET
        else:
            next_before = UUID(_next_before)

        turns_response = cls(
            session_id=session_id,
            turns=turns,
            next_before=next_before,
        )

        turns_response.additional_properties = d
        return turns_response

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

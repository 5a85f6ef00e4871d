from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.cancel_reason import CancelReason
from ..types import UNSET, Unset

T = TypeVar("T", bound="TurnCanceledEvent")


@_attrs_define
class TurnCanceledEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        reason (CancelReason): Who or what stopped the turn.
        message_withdrawn (bool | Unset):
        revision (int | Unset):
    """

    session_id: UUID
    turn_id: UUID
    reason: CancelReason
    message_withdrawn: bool | Unset = UNSET
    revision: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        reason = self.reason.value

        message_withdrawn = self.message_withdrawn

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "reason": reason,
            }
        )
        if message_withdrawn is not UNSET:
            field_dict["message_withdrawn"] = message_withdrawn
        if revision is not UNSET:
            field_dict["revision"] = revision

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        reason = CancelReason(d.pop("reason"))

        message_withdrawn = d.pop("message_withdrawn", UNSET)

        revision = d.pop("revision", UNSET)

        turn_canceled_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            reason=reason,
            message_withdrawn=message_withdrawn,
            revision=revision,
        )

        turn_canceled_event.additional_properties = d
        return turn_canceled_event

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

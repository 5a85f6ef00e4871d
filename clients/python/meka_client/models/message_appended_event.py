from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.message_view import MessageView


T = TypeVar("T", bound="MessageAppendedEvent")


@_attrs_define
class MessageAppendedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        message (MessageView):
        resumed (bool | Unset): True on the copy that a reader gets who attaches during the turn.
    """

    session_id: UUID
    turn_id: UUID
    message: MessageView
    resumed: bool | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        message = self.message.to_dict()

        resumed = self.resumed

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "message": message,
            }
        )
        if resumed is not UNSET:
            field_dict["resumed"] = resumed

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.message_view import MessageView  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        message = MessageView.from_dict(d.pop("message"))

        resumed = d.pop("resumed", UNSET)

        message_appended_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            message=message,
            resumed=resumed,
        )

        message_appended_event.additional_properties = d
        return message_appended_event

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

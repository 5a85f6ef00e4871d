from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.message_view import MessageView


T = TypeVar("T", bound="MessagesResponse")


@_attrs_define
class MessagesResponse:
    """
    Attributes:
        session_id (UUID):
        messages (list[MessageView]):
        total (int): How many messages the whole conversation holds.
        revision (int): How often the history was rewritten; a message that is added does not move it.
    """

    session_id: UUID
    messages: list[MessageView]
    total: int
    revision: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        messages = []
        for messages_item_data in self.messages:
            messages_item = messages_item_data.to_dict()
            messages.append(messages_item)

        total = self.total

        revision = self.revision

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "messages": messages,
                "total": total,
                "revision": revision,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.message_view import MessageView  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        messages = []
        _messages = d.pop("messages")
        for messages_item_data in _messages:
            messages_item = MessageView.from_dict(messages_item_data)

            messages.append(messages_item)

        total = d.pop("total")

        revision = d.pop("revision")

        messages_response = cls(
            session_id=session_id,
            messages=messages,
            total=total,
            revision=revision,
        )

        messages_response.additional_properties = d
        return messages_response

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

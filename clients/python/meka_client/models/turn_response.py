from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.stop_reason import StopReason
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.message_view import MessageView
    from ..models.notice_view import NoticeView
    from ..models.turn_usage import TurnUsage


T = TypeVar("T", bound="TurnResponse")


@_attrs_define
class TurnResponse:
    """
    Attributes:
        turn_id (UUID):
        session_id (UUID):
        stop_reason (StopReason): Why the model stopped; on a turn that succeeded.
        messages (list[MessageView]): What the turn added to the conversation, its opening first.
        usage (TurnUsage): Tokens, over every round of the turn.
        notices (list[NoticeView]):
        refusal_text (str | Unset): What the model said when it refused.
    """

    turn_id: UUID
    session_id: UUID
    stop_reason: StopReason
    messages: list[MessageView]
    usage: TurnUsage
    notices: list[NoticeView]
    refusal_text: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        turn_id = str(self.turn_id)

        session_id = str(self.session_id)

        stop_reason = self.stop_reason.value

        messages = []
        for messages_item_data in self.messages:
            messages_item = messages_item_data.to_dict()
            messages.append(messages_item)

        usage = self.usage.to_dict()

        notices = []
        for notices_item_data in self.notices:
            notices_item = notices_item_data.to_dict()
            notices.append(notices_item)

        refusal_text = self.refusal_text

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "turn_id": turn_id,
                "session_id": session_id,
                "stop_reason": stop_reason,
                "messages": messages,
                "usage": usage,
                "notices": notices,
            }
        )
        if refusal_text is not UNSET:
            field_dict["refusal_text"] = refusal_text

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.message_view import MessageView  # noqa: PLC0415
        from ..models.notice_view import NoticeView  # noqa: PLC0415
        from ..models.turn_usage import TurnUsage  # noqa: PLC0415

        d = dict(src_dict)
        turn_id = UUID(d.pop("turn_id"))

        session_id = UUID(d.pop("session_id"))

        stop_reason = StopReason(d.pop("stop_reason"))

        messages = []
        _messages = d.pop("messages")
        for messages_item_data in _messages:
            messages_item = MessageView.from_dict(messages_item_data)

            messages.append(messages_item)

        usage = TurnUsage.from_dict(d.pop("usage"))

        notices = []
        _notices = d.pop("notices")
        for notices_item_data in _notices:
            notices_item = NoticeView.from_dict(notices_item_data)

            notices.append(notices_item)

        refusal_text = d.pop("refusal_text", UNSET)

        turn_response = cls(
            turn_id=turn_id,
            session_id=session_id,
            stop_reason=stop_reason,
            messages=messages,
            usage=usage,
            notices=notices,
            refusal_text=refusal_text,
        )

        turn_response.additional_properties = d
        return turn_response

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

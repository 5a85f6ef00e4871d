from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tool_input import ToolInput


T = TypeVar("T", bound="PermissionRequiredEvent")


@_attrs_define
class PermissionRequiredEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        request_id (str):
        tool_name (str):
        input_ (ToolInput): The arguments of a call, as the tool's own schema shapes them.
        expires_in_seconds (int): Counted from the moment it was asked.
        expires_at (datetime.datetime): When it is denied, unless it is answered.
        subagent_id (UUID | Unset): The sub-agent whose call it is.
    """

    session_id: UUID
    turn_id: UUID
    request_id: str
    tool_name: str
    input_: ToolInput
    expires_in_seconds: int
    expires_at: datetime.datetime
    subagent_id: UUID | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        request_id = self.request_id

        tool_name = self.tool_name

        input_ = self.input_.to_dict()

        expires_in_seconds = self.expires_in_seconds

        expires_at = self.expires_at.isoformat()

        subagent_id: str | Unset = UNSET
        if not isinstance(self.subagent_id, Unset):
            subagent_id = str(self.subagent_id)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "request_id": request_id,
                "tool_name": tool_name,
                "input": input_,
                "expires_in_seconds": expires_in_seconds,
                "expires_at": expires_at,
            }
        )
        if subagent_id is not UNSET:
            field_dict["subagent_id"] = subagent_id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.tool_input import ToolInput  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        request_id = d.pop("request_id")

        tool_name = d.pop("tool_name")

        input_ = ToolInput.from_dict(d.pop("input"))

        expires_in_seconds = d.pop("expires_in_seconds")

        expires_at = datetime.datetime.fromisoformat(d.pop("expires_at"))

        _subagent_id = d.pop("subagent_id", UNSET)
        subagent_id: UUID | Unset
        if isinstance(_subagent_id, Unset):
            subagent_id = UNSET
        else:
            subagent_id = UUID(_subagent_id)

        permission_required_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            request_id=request_id,
            tool_name=tool_name,
            input_=input_,
            expires_in_seconds=expires_in_seconds,
            expires_at=expires_at,
            subagent_id=subagent_id,
        )

        permission_required_event.additional_properties = d
        return permission_required_event

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

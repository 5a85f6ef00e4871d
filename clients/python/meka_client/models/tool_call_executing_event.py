from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.tool_input import ToolInput


T = TypeVar("T", bound="ToolCallExecutingEvent")


@_attrs_define
class ToolCallExecutingEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        id (str):
        name (str):
        input_ (ToolInput): The arguments of a call, as the tool's own schema shapes them.
        display_summary (str | Unset): A label for people, where the tool has one.
    """

    session_id: UUID
    turn_id: UUID
    id: str
    name: str
    input_: ToolInput
    display_summary: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        id = self.id

        name = self.name

        input_ = self.input_.to_dict()

        display_summary = self.display_summary

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "id": id,
                "name": name,
                "input": input_,
            }
        )
        if display_summary is not UNSET:
            field_dict["display_summary"] = display_summary

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.tool_input import ToolInput  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        id = d.pop("id")

        name = d.pop("name")

        input_ = ToolInput.from_dict(d.pop("input"))

        display_summary = d.pop("display_summary", UNSET)

        tool_call_executing_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            id=id,
            name=name,
            input_=input_,
            display_summary=display_summary,
        )

        tool_call_executing_event.additional_properties = d
        return tool_call_executing_event

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

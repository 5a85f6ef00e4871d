from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.image_block import ImageBlock
    from ..models.text_block import TextBlock
    from ..models.tool_change import ToolChange
    from ..models.tool_reference_block import ToolReferenceBlock


T = TypeVar("T", bound="ToolCallCompletedEvent")


@_attrs_define
class ToolCallCompletedEvent:
    """
    Attributes:
        session_id (UUID):
        turn_id (UUID):
        id (str):
        is_error (bool):
        content (list[ImageBlock | TextBlock | ToolReferenceBlock]):
        change (ToolChange | Unset): The text that a call changed, whole, before and after.
    """

    session_id: UUID
    turn_id: UUID
    id: str
    is_error: bool
    content: list[ImageBlock | TextBlock | ToolReferenceBlock]
    change: ToolChange | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415

        session_id = str(self.session_id)

        turn_id = str(self.turn_id)

        id = self.id

        is_error = self.is_error

        content = []
        for content_item_data in self.content:
            content_item: dict[str, Any]
            if isinstance(content_item_data, TextBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ImageBlock):
                content_item = content_item_data.to_dict()
            else:
                content_item = content_item_data.to_dict()

            content.append(content_item)

        change: dict[str, Any] | Unset = UNSET
        if not isinstance(self.change, Unset):
            change = self.change.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "session_id": session_id,
                "turn_id": turn_id,
                "id": id,
                "is_error": is_error,
                "content": content,
            }
        )
        if change is not UNSET:
            field_dict["change"] = change

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415
        from ..models.tool_change import ToolChange  # noqa: PLC0415
        from ..models.tool_reference_block import ToolReferenceBlock  # noqa: PLC0415

        d = dict(src_dict)
        session_id = UUID(d.pop("session_id"))

        turn_id = UUID(d.pop("turn_id"))

        id = d.pop("id")

        is_error = d.pop("is_error")

        content = []
        _content = d.pop("content")
        for content_item_data in _content:

            def _parse_content_item(
                data: object,
            ) -> ImageBlock | TextBlock | ToolReferenceBlock:
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_tool_result_content_view_type_0 = (
                        TextBlock.from_dict(data)
                    )

                    return componentsschemas_tool_result_content_view_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_tool_result_content_view_type_1 = (
                        ImageBlock.from_dict(data)
                    )

                    return componentsschemas_tool_result_content_view_type_1
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_tool_result_content_view_type_2 = (
                    ToolReferenceBlock.from_dict(data)
                )

                return componentsschemas_tool_result_content_view_type_2

            content_item = _parse_content_item(content_item_data)

            content.append(content_item)

        _change = d.pop("change", UNSET)
        change: ToolChange | Unset
        if isinstance(_change, Unset):
            change = UNSET
        else:
            change = ToolChange.from_dict(_change)

        tool_call_completed_event = cls(
            session_id=session_id,
            turn_id=turn_id,
            id=id,
            is_error=is_error,
            content=content,
            change=change,
        )

        tool_call_completed_event.additional_properties = d
        return tool_call_completed_event

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

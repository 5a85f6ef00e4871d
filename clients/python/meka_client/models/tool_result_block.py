from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.tool_result_block_type import ToolResultBlockType

if TYPE_CHECKING:
    from ..models.image_block import ImageBlock
    from ..models.text_block import TextBlock
    from ..models.tool_reference_block import ToolReferenceBlock


T = TypeVar("T", bound="ToolResultBlock")


@_attrs_define
class ToolResultBlock:
    """The answer to one call of a tool.

    Attributes:
        type_ (ToolResultBlockType):
        tool_use_id (str):
        is_error (bool):
        content (list[ImageBlock | TextBlock | ToolReferenceBlock]):
    """

    type_: ToolResultBlockType
    tool_use_id: str
    is_error: bool
    content: list[ImageBlock | TextBlock | ToolReferenceBlock]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415

        type_ = self.type_.value

        tool_use_id = self.tool_use_id

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

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "tool_use_id": tool_use_id,
                "is_error": is_error,
                "content": content,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415
        from ..models.tool_reference_block import ToolReferenceBlock  # noqa: PLC0415

        d = dict(src_dict)
        type_ = ToolResultBlockType(d.pop("type"))

        tool_use_id = d.pop("tool_use_id")

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

        tool_result_block = cls(
            type_=type_,
            tool_use_id=tool_use_id,
            is_error=is_error,
            content=content,
        )

        tool_result_block.additional_properties = d
        return tool_result_block

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

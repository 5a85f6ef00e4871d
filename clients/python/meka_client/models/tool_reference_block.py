from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.tool_reference_block_type import ToolReferenceBlockType

T = TypeVar("T", bound="ToolReferenceBlock")


@_attrs_define
class ToolReferenceBlock:
    """A deferred tool that became callable where this item stands.

    Attributes:
        type_ (ToolReferenceBlockType):
        tool_name (str):
    """

    type_: ToolReferenceBlockType
    tool_name: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        tool_name = self.tool_name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "tool_name": tool_name,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = ToolReferenceBlockType(d.pop("type"))

        tool_name = d.pop("tool_name")

        tool_reference_block = cls(
            type_=type_,
            tool_name=tool_name,
        )

        tool_reference_block.additional_properties = d
        return tool_reference_block

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

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.resource_block_type import ResourceBlockType

T = TypeVar("T", bound="ResourceBlock")


@_attrs_define
class ResourceBlock:
    """A file that was attached.

    Attributes:
        type_ (ResourceBlockType):
        text (str): Its contents.
        uri (str):
        name (str):
    """

    type_: ResourceBlockType
    text: str
    uri: str
    name: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        text = self.text

        uri = self.uri

        name = self.name

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "text": text,
                "uri": uri,
                "name": name,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = ResourceBlockType(d.pop("type"))

        text = d.pop("text")

        uri = d.pop("uri")

        name = d.pop("name")

        resource_block = cls(
            type_=type_,
            text=text,
            uri=uri,
            name=name,
        )

        resource_block.additional_properties = d
        return resource_block

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

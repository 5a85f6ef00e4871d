from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.image_block_type import ImageBlockType
from ..types import UNSET, Unset

T = TypeVar("T", bound="ImageBlock")


@_attrs_define
class ImageBlock:
    """An image, named by the hash of its bytes.

    Attributes:
        type_ (ImageBlockType):
        media_type (str):
        hash_ (str | Unset): SHA-256 in hexadecimal; absent on a feed.
    """

    type_: ImageBlockType
    media_type: str
    hash_: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        media_type = self.media_type

        hash_ = self.hash_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "media_type": media_type,
            }
        )
        if hash_ is not UNSET:
            field_dict["hash"] = hash_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = ImageBlockType(d.pop("type"))

        media_type = d.pop("media_type")

        hash_ = d.pop("hash", UNSET)

        image_block = cls(
            type_=type_,
            media_type=media_type,
            hash_=hash_,
        )

        image_block.additional_properties = d
        return image_block

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

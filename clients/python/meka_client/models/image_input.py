from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ImageInput")


@_attrs_define
class ImageInput:
    """Either bytes (`media_type` and `data`) or the `hash` of an image the session's history holds.

    Attributes:
        media_type (None | str | Unset): A hint, heard for TGA alone; of all other formats the bytes decide.
        data (None | str | Unset): Standard base64 with padding; at most 3.75 MB decoded.
        hash_ (None | str | Unset):
    """

    media_type: None | str | Unset = UNSET
    data: None | str | Unset = UNSET
    hash_: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        media_type: None | str | Unset
        if isinstance(self.media_type, Unset):
            media_type = UNSET
        else:
            media_type = self.media_type

        data: None | str | Unset
        if isinstance(self.data, Unset):
            data = UNSET
        else:
            data = self.data

        hash_: None | str | Unset
        if isinstance(self.hash_, Unset):
            hash_ = UNSET
        else:
            hash_ = self.hash_

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if media_type is not UNSET:
            field_dict["media_type"] = media_type
        if data is not UNSET:
            field_dict["data"] = data
        if hash_ is not UNSET:
            field_dict["hash"] = hash_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_media_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        media_type = _parse_media_type(d.pop("media_type", UNSET))

        def _parse_data(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        data = _parse_data(d.pop("data", UNSET))

        def _parse_hash_(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        hash_ = _parse_hash_(d.pop("hash", UNSET))

        image_input = cls(
            media_type=media_type,
            data=data,
            hash_=hash_,
        )

        return image_input

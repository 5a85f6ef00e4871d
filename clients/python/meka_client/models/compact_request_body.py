from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="CompactRequestBody")


@_attrs_define
class CompactRequestBody:
    """
    Attributes:
        instructions (None | str | Unset): What the summary is to keep or to drop.
        keep_recent (bool | None | Unset): Whether the most recent messages stay word for word; meka decides where
            nothing is said.
    """

    instructions: None | str | Unset = UNSET
    keep_recent: bool | None | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        instructions: None | str | Unset
        if isinstance(self.instructions, Unset):
            instructions = UNSET
        else:
            instructions = self.instructions

        keep_recent: bool | None | Unset
        if isinstance(self.keep_recent, Unset):
            keep_recent = UNSET
        else:
            keep_recent = self.keep_recent

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if instructions is not UNSET:
            field_dict["instructions"] = instructions
        if keep_recent is not UNSET:
            field_dict["keep_recent"] = keep_recent

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_instructions(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        instructions = _parse_instructions(d.pop("instructions", UNSET))

        def _parse_keep_recent(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        keep_recent = _parse_keep_recent(d.pop("keep_recent", UNSET))

        compact_request_body = cls(
            instructions=instructions,
            keep_recent=keep_recent,
        )

        return compact_request_body

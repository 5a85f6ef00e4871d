from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="RewindRequestBody")


@_attrs_define
class RewindRequestBody:
    """
    Attributes:
        turns (int | None | Unset): How many of the last turns to drop. Default: 1.
    """

    turns: int | None | Unset = 1

    def to_dict(self) -> dict[str, Any]:
        turns: int | None | Unset
        if isinstance(self.turns, Unset):
            turns = UNSET
        else:
            turns = self.turns

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if turns is not UNSET:
            field_dict["turns"] = turns

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_turns(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        turns = _parse_turns(d.pop("turns", UNSET))

        rewind_request_body = cls(
            turns=turns,
        )

        return rewind_request_body

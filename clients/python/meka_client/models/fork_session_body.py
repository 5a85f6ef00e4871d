from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="ForkSessionBody")


@_attrs_define
class ForkSessionBody:
    """
    Attributes:
        working_directory (None | str | Unset): Where the copy works, as an absolute path; the source's directory when
            it is left out.
    """

    working_directory: None | str | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        working_directory: None | str | Unset
        if isinstance(self.working_directory, Unset):
            working_directory = UNSET
        else:
            working_directory = self.working_directory

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if working_directory is not UNSET:
            field_dict["working_directory"] = working_directory

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_working_directory(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        working_directory = _parse_working_directory(d.pop("working_directory", UNSET))

        fork_session_body = cls(
            working_directory=working_directory,
        )

        return fork_session_body

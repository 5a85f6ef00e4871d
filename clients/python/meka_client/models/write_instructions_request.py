from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define

T = TypeVar("T", bound="WriteInstructionsRequest")


@_attrs_define
class WriteInstructionsRequest:
    """
    Attributes:
        content (str): The whole text; blank removes the file.
    """

    content: str

    def to_dict(self) -> dict[str, Any]:
        content = self.content

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "content": content,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        content = d.pop("content")

        write_instructions_request = cls(
            content=content,
        )

        return write_instructions_request

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="InstructionsResponse")


@_attrs_define
class InstructionsResponse:
    """
    Attributes:
        writable (bool): Whether `instructions.md` is what this server reads.
        content (str | Unset): Absent when there are none.
        path (str | Unset): The file or directory they were read from; for a token of the configuration.
        source (str | Unset): What they come from; for a token of the configuration.
    """

    writable: bool
    content: str | Unset = UNSET
    path: str | Unset = UNSET
    source: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        writable = self.writable

        content = self.content

        path = self.path

        source = self.source

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "writable": writable,
            }
        )
        if content is not UNSET:
            field_dict["content"] = content
        if path is not UNSET:
            field_dict["path"] = path
        if source is not UNSET:
            field_dict["source"] = source

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        writable = d.pop("writable")

        content = d.pop("content", UNSET)

        path = d.pop("path", UNSET)

        source = d.pop("source", UNSET)

        instructions_response = cls(
            writable=writable,
            content=content,
            path=path,
            source=source,
        )

        instructions_response.additional_properties = d
        return instructions_response

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

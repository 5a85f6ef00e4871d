from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.permission_level import PermissionLevel

T = TypeVar("T", bound="ToolView")


@_attrs_define
class ToolView:
    """
    Attributes:
        name (str):
        description (str):
        required_permission (PermissionLevel): What a session's tools may do; each level holds what the ones before it
            hold.
        deferred (bool): Whether the model must load it before it can call it.
    """

    name: str
    description: str
    required_permission: PermissionLevel
    deferred: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        description = self.description

        required_permission = self.required_permission.value

        deferred = self.deferred

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "description": description,
                "required_permission": required_permission,
                "deferred": deferred,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        description = d.pop("description")

        required_permission = PermissionLevel(d.pop("required_permission"))

        deferred = d.pop("deferred")

        tool_view = cls(
            name=name,
            description=description,
            required_permission=required_permission,
            deferred=deferred,
        )

        tool_view.additional_properties = d
        return tool_view

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
